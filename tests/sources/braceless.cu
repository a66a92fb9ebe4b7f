// Bodies without braces, nested, with dangling else.
__global__ void braceless(int *out, const int *in, int n)
{
    int i = threadIdx.x, total = 0;
    if (i < n)
        if (in[i] > 0)
            total = in[i];
        else
            total = -in[i];
    for (int k = 0; k < n; k++)
        if (in[k] > total)
            for (int m = k; m < n; m++)
                total += in[m];
        else if (in[k] < 0)
            while (total > 100)
                total /= 2;
        else
            total--;
    if (total) out[i] = total; else out[i] = 0;
    do
        total++;
    while (total < 10);
    if (i == 0)
        ;
    else
        out[0] = total;
    for (;;)
        if (total > 20) break;
        else total += 3;
    if (n) for (int k = 0; k < 2; k++) if (k) out[k] = 1; else out[k] = 2;
    out[n] = total;
}
