// Structured bindings: of structs, arrays, by reference, by const reference.
struct Pair { int first; float second; };
__device__ Pair split(float value) { Pair pair; pair.first = (int)value; pair.second = value - pair.first; return pair; }

__global__ void bindings(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    auto [whole, rest] = split(in[i]);
    float corner[2] = {in[i], 1.0f};
    auto &[left, right] = corner;
    left += rest;
    right = left * 2.0f;
    Pair pair = split(in[0]);
    const auto &[head, tail] = pair;
    if (head > 3) {
        auto [inner, part] = split(left);
        out[i] = part;
        whole = inner;
    }
    out[i] += tail + whole;
    out[i] = corner[0] + corner[1];
}
