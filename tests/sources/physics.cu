// A lattice update as applications have it: options by #if, boundary macros, random state, many helpers.
// gi-config:
// gi-config: PERIODIC=1
// gi-config: PERIODIC=1 USE_FLOAT=1
// gi-config: NOISE=1
#ifdef USE_FLOAT
typedef float real;
#define R(x) x##f
#else
typedef double real;
#define R(x) x
#endif
#ifdef PERIODIC
#define WRAP(i, n) (((i) + (n)) % (n))
#else
#define WRAP(i, n) ((i) < 0 ? 0 : (i) >= (n) ? (n) - 1 : (i))
#endif
#define AT(x, y) ((y) * width + (x))

struct Random { unsigned s0, s1; };
struct Options { real rate, decay; int width, height; bool clamp; };

__device__ unsigned next_random(Random *state)
{
    unsigned a = state->s0, b = state->s1;
    state->s0 = b;
    a ^= a << 23;
    a ^= b ^ (a >> 17) ^ (b >> 26);
    state->s1 = a;
    return a + b;
}
static __device__ inline real clamped(real x, real low, real high)
{
    if (x < low) return low;
    return x > high ? high : x;
}

__global__ void physics(real *out, const real *in, Random *states, const Options options, int *alive)
{
    const int width = options.width, height = options.height;
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    const int here = AT(x, y);
    real sum = R(0.0), centre = in[here];
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            if (dx == 0 && dy == 0) continue;
            sum += in[AT(WRAP(x + dx, width), WRAP(y + dy, height))];
        }
    }
    real value = centre + options.rate * (sum / R(8.0) - centre);
#ifdef NOISE
    Random random = states[here];
    real noise = (next_random(&random) & 0xffff) / R(65536.0);
    value += noise * options.decay;
    states[here] = random;
#else
    value *= R(1.0) - options.decay;
#endif
    if (options.clamp) value = clamped(value, R(0.0), R(1.0));
    if (value > R(0.5)) { atomicAdd(alive, 1); }
    out[here] = value;
}
