// Classes: member functions, static members, this, nested types, arrays of structs, unions, bit fields.
struct Particle {
    float x, y, vx, vy;
    struct Cell { int row, column; } cell;
    unsigned flags : 4;
    __device__ float speed() const { float s = vx * vx; s += vy * vy; return s; }
    __device__ void move(float dt) { x += vx * dt; this->y += this->vy * dt; }
    __device__ Particle &reset() { vx = 0; vy = 0; return *this; }
    static __device__ int count(int n) { return n * 2; }
};
union Bits { float f; unsigned u; };
class Box {
    float side;
public:
    __device__ Box(float s) : side(s) {}
    __device__ float volume() const { return side * side * side; }
};

__global__ void members(Particle *particles, float *out, int n)
{
    int i = threadIdx.x;
    Particle mine = particles[i];
    Particle *other = particles + (i + 1) % n;
    Bits bits;
    Box box(mine.x), second = Box(2.0f);
    bits.f = mine.x;
    bits.u ^= 1u;
    mine.cell.row = i / 4;
    mine.cell.column = i % 4;
    mine.move(0.5f);
    if (mine.speed() > other->speed() && other->x > 0)
        mine.reset().move(1.0f);
    other->vx = mine.vy;
    other->cell.row = mine.cell.column;
    particles[i].flags = 3;
    particles[Particle::count(i) % n] = mine;
    out[i] = box.volume() + second.volume() + bits.f;
    for (int k = 0; k < particles[i].cell.row; k++) out[k] += particles[k].vx;
}
