// switch: falling through, ranges of labels, declarations in braces, nested, on characters, loops inside.
__device__ int code(char c)
{
    int value = 0;
    switch (c) {
    case 'A': case 'a': value = 1; break;
    case 'C':
    case 'c':
        value = 2;
        break;
    case '\n': value = -1; // falls through
    default: value += 3;
    }
    return value;
}

__global__ void switches(int *out, const char *in, int n)
{
    int i = threadIdx.x, sum = 0;
    const int kTop = 5;
    switch (n & 7) {
    case 0: {
        int local = code(in[i]);
        out[i] = local;
        break;
    }
    case 1 + 1:
        for (int k = 0; k < n; k++) {
            if (in[k] == 'x') continue;
            if (in[k] == 'y') break;
            sum += k;
        }
    case 3:
        sum++;
        switch (sum) { case 1: out[i] = 1; break; case kTop: out[i] = 2; }
        break;
    case kTop + 1: sum = kTop;
    }
    switch (sum) default: out[n] = sum;
    switch (sum > 3 ? i : n) {
    case 4:
        if (i) { case 6: sum = 2; }
        out[1] = sum;
    }
}
