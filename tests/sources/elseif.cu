// else-if chains, long and nested, with and without braces.
__device__ int grade(int score)
{
    int mark;
    if (score > 90) mark = 1;
    else if (score > 80) mark = 2;
    else if (score > 70) { mark = 3; mark += score & 1; }
    else if (score > 60) mark = 4;
    else { mark = 5; }
    return mark;
}

__global__ void elseif(int *out, const int *in, int n)
{
    int i = threadIdx.x, value = in[i];
    if (i >= n) {
        return;
    } else if (value < 0) {
        out[i] = -value;
        if (value < -10) out[i] = 10;
        else if (value < -5) out[i] = 5;
    } else if (value == 0 || value == n) {
        out[i] = 1;
    } else if (int rest = value % 3) {
        out[i] = rest;
    } else {
        out[i] = grade(value);
    }
    if (value > 5) out[0] = 1; else if (value > 4) out[1] = 1; else if (value > 3) out[2] = 1;
}
