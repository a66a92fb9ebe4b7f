// goto and labels: out of loops, back, at the end, in branches.
__global__ void gotos(int *out, const int *in, int n)
{
    int i = threadIdx.x, tries = 0;
again:
    tries++;
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            if (in[y * n + x] < 0) goto found;
            out[x] = y;
        }
    if (tries < 3 && in[i] > 0) goto again;
    out[i] = -1;
    goto done;
found:
    out[i] = tries;
    if (i == 0) { out[0] = 1; goto done; }
    else { inner: out[1] = 2; tries += 2; }
    if (tries < 9) goto inner;
done: out[n] = tries;
    tries = 0;
last:;
}
