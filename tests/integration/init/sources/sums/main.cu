#include <cstdio>
#include <vector>

#include "reduce.cuh"

static const int kBlock = 128;

int main()
{
    const int n = 1 << 20;
    float *in, *out;
    int blocks = (n + kBlock * ITEMS_PER_THREAD - 1) / (kBlock * ITEMS_PER_THREAD);
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, blocks * sizeof(float));
    sums::reduce<float, kBlock><<<blocks, kBlock>>>(in, out, n);
    std::vector<float> host(blocks);
    cudaMemcpy(host.data(), out, blocks * sizeof(float), cudaMemcpyDeviceToHost);
    double total = 0;
    for (float one : host) total += one;
    printf("%f\n", total);
    return 0;
}
