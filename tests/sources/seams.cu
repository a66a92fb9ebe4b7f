// Neighbouring loops of one header, and loops whose bodies fall into parts.
#define LEAVE(c) if (c) break
#define LAST (n - 1)

__device__ float half(float x) { return x / 2; }

__global__ void seams(float *p, float *q, const int *at, int n, float x)
{
    float sum = 0;
    int k;
    #pragma unroll 4
    for (int i = 0; i < n; i++) { // the first
        float y = p[i];
        p[i] = half(y) + x;
        q[i] = 0;
        __syncthreads();
    } // of them

    /* the second */
    for (int j = 0; j<n; j++) {
        q[j] += p[j];
        if (q[j] > 1)
            sum += q[j];
        else
            sum--;
    }
    #pragma unroll
    for (int j = 0; j < n; j++)
    {
        float z = q[j]; sum += z;
        for (int m = 0; m < 4; m++) { p[m] += sum; if (p[m] > z) break; q[m]--; }
        for (int m = 0; m < 4; m++)
            q[m] += z;
    }
    for (int i = 0; i < 9; i++)
        p[i] += 1;
    for (int i = 0; i < 9; i++) { float y = q[i]; sum -= y; q[i] = y * x; }
    for (int i = 0; i < 9; i++) { float y = p[i]; sum += y; }
    for (int i = 0; i < 9; i++)
        if (at[i]) q[i] = sum;
    for (k = 0; k < n; k++) { p[k] = sum; q[k] = x; }
    for (k = 0; k < n; k++) p[k] *= 2;
    for (int i = 0; i < LAST; i++) { p[i]++; q[i]--; }
    for (int j = 0; j < LAST; j++) { p[j]--; q[j]++; }
    for (int i = 0; i < n; i++) { if (p[i] > x) continue; q[i] = x; sum++; }
    for (int i = 0; i < n; i++) { LEAVE(p[i] < x); q[i] = x; sum++; }
    for (int i = 0; i < n; ) { p[i] = x; i++; }
    for (int i = 0, m = n; i < m; i++) { p[i] = m; q[i] = m; }
    for (int i = 0, m = n; i < m; i++) { p[i]++; }
    if (n)
        for (int i = 0; i < n; i++) { p[i] = x; q[i] = x; }
    for (unsigned i = 0; i < 8u; i += 2) {
        float x = p[i]; q[i] = x; p[i]++;
    }
    for (unsigned i = 0; i < 8u; i += 2) {
        q[i] += x; p[i]--;
    }
#ifdef TWICE
    for (int i = 0; i < n; i++) { p[i]++; q[i]++; }
#endif
    for (int i = 0; i < n; i++) {
        p[i]--;
#ifdef TWICE
        q[i]--;
#else
        q[i]++;
#endif
        sum++;
        q[0] = sum;
    }
    q[n] = sum;
}
// gi-config:
// gi-config: TWICE=1
