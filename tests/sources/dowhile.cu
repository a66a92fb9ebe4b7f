// do and while: nested, with continue and break, conditions that assign, endless ones that are left.
__global__ void dowhile(int *out, const int *in, int n)
{
    int i = threadIdx.x, steps = 0, value;
    do {
        steps++;
        if (in[steps] < 0) continue;
        out[steps] = in[steps];
    } while (steps < n && in[steps] != 0);
    while ((value = in[i]) > 0) {
        i++;
        if (i > n) break;
        do i += value & 1; while (i & 1 && i < n);
    }
    while (true) {
        steps -= 2;
        if (steps < 0 || !in[0]) break;
    }
    while (1) if (steps++ > 5) break;
    do { out[0] = steps; } while (0);
    while (i --> 0) out[i] = steps;
    while (!(steps > 20)) { steps += 4; }
    out[n] = i;
}
