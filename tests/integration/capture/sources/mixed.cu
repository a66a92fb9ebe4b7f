// Kernels that get what applications pass: views of arrays, null pointers, variables, templates.
__constant__ float weights[4];
namespace counted {
__device__ int calls;
}

template <typename T, int N>
__global__ void weigh(const T *in, T *out, const T *mask, int n, bool twice) {
    int i = blockIdx.x * N + threadIdx.x;
    if (i == 0) counted::calls++;
    if (i >= n) return;
    T value = in[i] * weights[i % 4];
    if (mask) value += mask[i];
    out[i] = twice ? value + value : value;
}

__global__ void smooth(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i - 1] + in[i] + in[i + 1];
}

__global__ void total(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += in[k];
    if (i < n) out[i] = sum;
}

struct Row {
    float *host;
    float sum;
};

__global__ void rows(Row *all, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) all[i].sum *= 2.0f;
}

__global__ void sample(cudaTextureObject_t image, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width) out[y * width + x] = 2.0f * tex2D<float>(image, x + 0.5f, y + 0.5f);
}

int main() {
    float *a = nullptr, *b = nullptr;
    int n = 500;
    weigh<float, 64><<<(n + 63) / 64, 64>>>(a, b, nullptr, n, false);
    smooth<<<(n + 127) / 128, 128>>>(a + 1, b, n);
    total<<<(n + 127) / 128, 128>>>(a, b, n);
    Row *all = nullptr;
    rows<<<(n + 31) / 32, 32>>>(all, n);
}
