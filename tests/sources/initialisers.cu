// Declarations in if, switch, for, while and range-for heads.
__device__ int find(const int *in, int n, int what) { int at = n; for (int k = n - 1; k >= 0; k--) if (in[k] == what) at = k; return at; }
__device__ const int *next_of(const int *p, const int *end) { p++; return p < end ? p : nullptr; }

__global__ void initialisers(int *out, const int *in, int n)
{
    int i = threadIdx.x;
    if (int at = find(in, n, i); at < n) out[i] = at;
    else out[i] = at + 1;
    if (int odd = i & 1) out[0] = odd;
    else if (const int *p = next_of(in, in + n)) out[1] = *p;
    switch (int rest = i % 3; rest) { case 0: out[2] = rest; break; default: out[3] = rest + 1; }
    for (int k = 0, *p = out; k < n; k++, p++) *p = k;
    for (unsigned long long bits = i; bits; bits &= bits - 1) out[4]++;
    while (int left = find(in, n, 3)) { i++; if (i > left) break; out[5] = left; }
    int five[5] = {1, 2, 3, 4, 5};
    for (int item : five) i += item;
    for (const auto &item : five) out[6] += item;
    for (auto *p = in; p != in + n; ++p) i += *p;
    int a(3), b{4}, c = {5};
    a += b;
    b = c;
    out[n] = i + a + b;
}
