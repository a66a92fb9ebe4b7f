// Shares its namespaces with the source that includes it.
#ifndef IMAGE_H
#define IMAGE_H
#include <math.h>

namespace image {
struct Pixel {
    float value;
};
namespace detail {
inline __device__ float clamped(float value) { return fminf(fmaxf(value, -500.0f), 500.0f); }
}  // namespace detail
}  // namespace image

struct Offset {
    float value;
};
__device__ Offset sum(Offset first, Offset second = Offset());

#ifdef __cplusplus
extern "C" {
#endif
void image_report(const char *what);
#ifdef __cplusplus
}
#endif
#endif
