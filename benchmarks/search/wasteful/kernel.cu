// Two wastes: of the bits that are looked at the upper half is never set, and what one of them is
// worth is computed anew for each. No text of the source can be copied to where it ends either.

__global__ void weigh(const unsigned *words, int *state, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned long long word = words[i];
        int worth;
        for (int bit = 0; bit < 64; bit++) {
            worth = 1000000 / (state[n + i] + 1) % 97;
            state[i] += (int)(word >> bit & 1) * worth;
        }
    }
}
