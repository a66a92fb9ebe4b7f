// scaled N ROUNDS: launches the kernel ROUNDS times on N numbers.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "words.h"

Index blockIdx, blockDim, threadIdx;

static double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e3 * time.tv_sec + 1e-6 * time.tv_nsec;
}

int main(int count, char **words) {
    if (count != 3) {
        fprintf(stderr, "usage: scaled N ROUNDS\n");
        return 2;
    }
    int n = atoi(words[1]), rounds = atoi(words[2]);
    int *in = new int[n], *out = new int[n];
    for (int i = 0; i < n; i++)
        in[i] = i * 7919 % 2003 - 1000;
    double begun = now();
    blockDim.x = 64;
    for (int round = 0; round < rounds; round++)
        for (blockIdx.x = 0; blockIdx.x * blockDim.x < (unsigned)n; blockIdx.x++)
            for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
                scale(in, out, n);
    report(out, n, now() - begun);
    return 0;
}
