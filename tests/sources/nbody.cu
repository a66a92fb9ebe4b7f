// N bodies: vector types, shared tiles, a macro for the softening, several kernels that share helpers.
#define SOFTENING 1e-9f
#define BODIES_PER_TILE 128
struct Body { float4 position; float3 velocity; };

__device__ float3 interact(float3 force, float4 a, float4 b)
{
    float3 d;
    d.x = b.x - a.x;
    d.y = b.y - a.y;
    d.z = b.z - a.z;
    float square = d.x * d.x + d.y * d.y + d.z * d.z + SOFTENING;
    float inverse = rsqrtf(square);
    float cube = inverse * inverse * inverse;
    float strength = b.w * cube;
    force.x += d.x * strength;
    force.y += d.y * strength;
    force.z += d.z * strength;
    return force;
}

__global__ void forces(float3 *out, const Body *bodies, int n)
{
    __shared__ float4 tile[BODIES_PER_TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 mine = make_float4(0.f, 0.f, 0.f, 0.f);
    float3 force = {0.f, 0.f, 0.f};
    if (i < n) mine = bodies[i].position;
    for (int first = 0; first < n; first += BODIES_PER_TILE) {
        int at = first + threadIdx.x;
        if (at < n) tile[threadIdx.x] = bodies[at].position;
        __syncthreads();
        int count = min(BODIES_PER_TILE, n - first);
        #pragma unroll 4
        for (int k = 0; k < count; k++) force = interact(force, mine, tile[k]);
        __syncthreads();
    }
    if (i < n) out[i] = force;
}

__global__ void step(Body *bodies, const float3 *force, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Body body = bodies[i];
    body.velocity.x += force[i].x * dt;
    body.velocity.y += force[i].y * dt;
    body.position.x += body.velocity.x * dt;
    body.position.y += body.velocity.y * dt;
    bodies[i] = body;
}
