// What a launch is, whichever of the driver's functions makes it.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <cstring>

namespace {

constexpr uint32_t COOPERATIVE = 1, GRAPH = 2, CLUSTER = 4;

// What a launch is, whichever function made it.
struct Launch {
    CUfunction function = nullptr;
    unsigned grid[3] = {0, 0, 0}, block[3] = {0, 0, 0}, shared = 0;
    CUstream stream = nullptr;
    void **parameters = nullptr, **extra = nullptr;
    uint32_t flags = 0;
    bool known = false;
};

template <class Words>
Launch plain(const Words *words, uint32_t flags) {
    Launch one;
    one.function = words->f;
    unsigned grid[] = {words->gridDimX, words->gridDimY, words->gridDimZ};
    unsigned block[] = {words->blockDimX, words->blockDimY, words->blockDimZ};
    memcpy(one.grid, grid, sizeof grid);
    memcpy(one.block, block, sizeof block);
    one.shared = words->sharedMemBytes;
    one.stream = words->hStream;
    one.parameters = words->kernelParams;
    one.flags = flags;
    one.known = true;
    return one;
}

Launch launch_of(CUpti_CallbackId id, const void *words) {
    switch (id) {
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz: {
            auto typed = static_cast<const cuLaunchKernel_params *>(words);
            Launch one = plain(typed, 0);
            one.extra = typed->extra;
            return one;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
            return plain(static_cast<const cuLaunchCooperativeKernel_params *>(words), COOPERATIVE);
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
            auto typed = static_cast<const cuLaunchKernelEx_params *>(words);
            struct {
                CUfunction f;
                unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ;
                unsigned sharedMemBytes;
                CUstream hStream;
                void **kernelParams;
            } same = {typed->f, typed->config->gridDimX, typed->config->gridDimY,
                      typed->config->gridDimZ, typed->config->blockDimX, typed->config->blockDimY,
                      typed->config->blockDimZ, typed->config->sharedMemBytes,
                      typed->config->hStream, typed->kernelParams};
            uint32_t flags = 0;
            for (unsigned i = 0; i < typed->config->numAttrs; i++) {
                auto kind = typed->config->attrs[i].id;
                if (kind == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) flags |= COOPERATIVE;
                if (kind == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) flags |= CLUSTER;
            }
            Launch one = plain(&same, flags);
            one.extra = typed->extra;
            return one;
        }
        default: {
            Launch one;
            one.flags = GRAPH;
            return one;
        }
    }
}

bool parameter_info(CUfunction function, size_t index, size_t *offset, size_t *size) {
    if (cuFuncGetParamInfo(function, index, offset, size) == CUDA_SUCCESS) return true;
    auto kernel = reinterpret_cast<CUkernel>(function);
    return cuKernelGetParamInfo(kernel, index, offset, size) == CUDA_SUCCESS;
}

const unsigned char *packed(void **extra) {
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2)
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) return static_cast<unsigned char *>(extra[1]);
    return nullptr;
}

}  // namespace
