// Lambdas: captures by copy, by reference, with initialiser, nested, generic, called at once.
template <class F> __device__ float apply(F f, float x) { float y = f(x); y += 1.0f; return y; }

__global__ void lambdas(float *out, const float *in, int n)
{
    int i = threadIdx.x;
    float scale = in[0], offset = in[1];
    auto scaled = [scale](float x) { return x * scale; };
    auto both = [&](float x) { offset += 1.0f; return x * scale + offset; };
    auto own = [k = n * 2](int j) { return j % (k + 1); };
    auto generic = [=](auto x) { float y = x; y *= scale; return y; };
    out[i] = apply(scaled, in[i]);
    offset = both(out[i]);
    if (own(i) > 2) out[i] += generic(offset);
    out[i] = [&]() { float t = 0; for (int k = 0; k < 3; k++) t += in[k]; return t; }();
    scale = apply([&](float x) { return apply([&](float y) { return x + y; }, x); }, scale);
    out[n] = scale * offset;
}
