// Enumerations: scoped and unscoped, unnamed, of a given type, as parameters, in switches.
enum Colour { RED, GREEN = 4, BLUE };
enum class Mode : unsigned char { slow, fast };
enum { WIDTH = 16, HEIGHT = WIDTH * 2 };
__device__ Colour next_of(Colour colour) { Colour after = BLUE; if (colour == RED) after = GREEN; return after; }
__device__ Mode other(Mode mode) { Mode result = Mode::slow; if (mode == Mode::slow) result = Mode::fast; return result; }

__global__ void enums(int *out, Colour colour, Mode mode, int n)
{
    enum Local { NONE, SOME };
    int i = threadIdx.x;
    int area = WIDTH * HEIGHT;
    Colour mine = colour;
    Mode now = mode;
    Local state = NONE;
    if (i < WIDTH) mine = next_of(mine);
    now = other(now);
    switch (mine) {
    case RED: out[i] = 1; break;
    case GREEN: out[i] = area; state = SOME; break;
    default: out[i] = BLUE;
    }
    switch (now) {
    case Mode::fast: out[i] += 2; break;
    case Mode::slow: out[i] -= 2; break;
    }
    out[i] += (int)mine + (state == SOME ? GREEN : RED);
    if (state) out[n] = static_cast<int>(now);
}
