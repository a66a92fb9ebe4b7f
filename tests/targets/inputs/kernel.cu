// What it is given matters less than is allowed, or is the same in all cases, or never matters.
#ifndef LEFT_OUT
#define LEFT_OUT 0
#endif

__global__ void settle(const float *in, const unsigned char *kind, const float *copy, const unsigned long long *range, float *trail, float gain,
                       float lean, float scale, int most, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
#if LEFT_OUT == 6
        float kept = gain;
        gain = scale;
        scale = kept;
#endif
        float part = 0.0f;
#if LEFT_OUT != 1
        part += 2e-7f * kind[i];
#endif
#if LEFT_OUT != 2
        part += trail[i];
#endif
#if LEFT_OUT != 3
        part += lean;
#endif
        part += range[i] & 7;
#if LEFT_OUT != 9
        part += range[i] >> 32;
#endif
#if LEFT_OUT == 7
        part += fabsf(in[i]);
#elif LEFT_OUT == 8
        part += copy[i];
#else
        part += in[i];
#endif
#if LEFT_OUT != 4
        part *= gain;
#endif
#if LEFT_OUT == 5
        most = 2;
#endif
        float rest = (LEFT_OUT == 8 ? copy[i] : in[i]) * scale;
        for (int halved = 0; halved < most && rest > 0.25f; ++halved) {
            rest *= 0.5f;
            part += 1.0f;
        }
        trail[i] = part;
    }
}
