// Namespaces that the header has too, an anonymous one, C linkage in both of its forms, and a
// function that the header declares.
#include "image.h"

#include <string>
#include <vector>

namespace {
__device__ float halved(float value) { return value / 2; }
}  // namespace

namespace image {

namespace detail {
__device__ Pixel shaded(Pixel pixel) { return Pixel{clamped(pixel.value)}; }
}  // namespace detail

__global__ void shade(const Pixel *in, Pixel *out, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) {
        out[at] = detail::shaded(in[at]);
    }
}

std::vector<std::string> names() { return {"shade"}; }

}  // namespace image

namespace image::detail {
__global__ void halve(Pixel *pixels, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) pixels[at].value = halved(pixels[at].value);
}
}  // namespace image::detail

extern "C" __global__ void negate(image::Pixel *pixels, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) pixels[at].value = -pixels[at].value;
}

extern "C" {
__device__ float bias = 0.25f;

__global__ void lift(float *values, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) values[at] = sum(sum(Offset{values[at]}), Offset{bias}).value;
}
}

__device__ Offset sum(Offset first, Offset second) { return Offset{first.value + second.value}; }
