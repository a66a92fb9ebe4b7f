// Counts letters by groups; other characters have no place in its counters.
#include <cstdlib>
#include <vector>

constexpr int GROUPS = 6;
constexpr int WIDTH = (26 + GROUPS - 1) / GROUPS;

__global__ void letters(const char *text, const float *weights, const int *more, int *counts,
                        int n)
{
    __shared__ int own[GROUPS];
    if (threadIdx.x < GROUPS)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[(text[i] - 'a') / WIDTH], weights[i] > 0 ? 1 + more[i] : 2);
    __syncthreads();
    if (threadIdx.x < GROUPS)
        atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

static void scatter(float *values, int n)
{
    for (int i = 0; i < n; i++)
        values[i] = 4.0f * rand() / RAND_MAX - 2.0f;
}

int main()
{
    int n = 1 << 14;
    std::vector<char> text(n);
    std::vector<float> weights(n);
    std::vector<int> more(n);
    for (auto i = 0; i < n; i++) {
        text[i] = 'a' + rand() % 26;
        more[i] = 7;
    }
    scatter(weights.data(), n);
    char *d_text;
    float *d_weights;
    int *d_more, *d_counts;
    cudaMalloc(&d_text, n);
    cudaMalloc(&d_weights, n * sizeof(float));
    cudaMalloc(&d_more, n * sizeof(int));
    cudaMalloc(&d_counts, GROUPS * sizeof(int));
    cudaMemcpy(d_text, text.data(), n, cudaMemcpyHostToDevice);
    cudaMemcpy(d_weights, weights.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_more, more.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    letters<<<n / 256, 256>>>(d_text, d_weights, d_more, d_counts, n);
}
