// Comma expressions: in statements, headers, conditions, arguments, subscripts.
__device__ int pick(int a, int b) { int c = (a++, b--, a + b); return c; }

__global__ void commas(int *out, const int *in, int n)
{
    int i, j, k = 0;
    i = threadIdx.x, j = n;
    for (i = 0, j = n - 1; i < j; i++, j--, k += 2) out[i] = in[j], out[j] = in[i];
    while (k--, k > 0) out[k] = i, i++;
    if (k = 3, in[k] > 0) out[0] = (i = 2, j = 3, i * j);
    out[(k++, k & 3)] = pick((i++, i), j);
    for (int a = 0, b = 1, *p = out; a < n; a += b, b++) p[a] = b, k += a;
    i > j ? (out[1] = i, out[2] = j) : (out[3] = 4);
    do i++, j++; while (i < 5, j < 5);
    out[n] = i + j + k;
}
