// Literals and arithmetic types of every width: hexadecimal, octal, with suffixes, characters, bool.
#include <stdint.h>
__device__ uint64_t rotate(uint64_t x, int k) { uint64_t y = (x << k) | (x >> (64 - k)); return y; }

__global__ void numbers(double *out, const int8_t *bytes, uint64_t seed, long long n)
{
    unsigned long long state = seed ^ 0x9E3779B97F4A7C15ULL;
    const unsigned mask = 0xffu;
    short low = 017, high = -3;
    float single = 1.5e-3f, tiny = .5f, whole = 2.f;
    double wide = 1e10, exact = 3.0;
    bool even = !(n & 1), flag = true;
    char letter = 'a', escape = '\x41';
    long long big = 1LL << 40;
    size_t i = threadIdx.x;
    state = rotate(state, 13);
    state *= 0xBF58476D1CE4E5B9ull;
    low += bytes[i] % 7;
    high = low > high ? low : -high;
    if (even == flag && letter != escape) wide += single * tiny - whole;
    letter = letter + 1;
    exact /= 3;
    big -= ~n + (long long)(state & mask);
    flag = i < 32 || big > 0;
    out[i] = wide + exact + low + big % 1000 + (flag ? 1 : 0) - -1;
    out[0] = (double)state / 18446744073709551616.0 + 1'000 + high + letter;
}
