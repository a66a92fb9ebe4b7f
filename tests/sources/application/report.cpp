#include <stdio.h>

#include "words.h"

void report(const int *out, int n, double milliseconds) {
    long long sum = 0;
    for (int i = 0; i < n; i++)
        sum += (long long)(i % 17) * out[i];
    printf("values: %d\nsum: %lld\n", n, sum);
    printf("kernel time: %.6f ms\n", milliseconds);
}
