// A driver without a device, and an application on it that launches smooth and sample of mixed.cu: the
// injected library is linked with it, and sees what it would see of CUDA. Memory is the host's.
#include <cuda.h>
#include <cupti.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <utility>
#include <vector>

extern "C" int InitializeInjection();

namespace {

struct Function {
    const char *name;
    std::vector<size_t> sizes;
};

Function smooth = {"_Z6smoothPKfPfi", {8, 8, 4}}, sample = {"_Z6sampleyPfii", {8, 8, 4, 4}};
std::map<CUdeviceptr, size_t> allocated;
std::vector<unsigned char> image;
size_t image_width, image_height;
CUpti_CallbackFunc callback;
CUpti_BuffersCallbackRequestFunc room;
CUpti_BuffersCallbackCompleteFunc complete;
std::vector<CUpti_ActivityKernel4> timed;
std::function<void()> launched;  // what the last launch does
int made;  // launches of smooth

// So many zeros; what it gave before under that number is used again.
float *allocate(int number, size_t count) {
    static std::map<std::pair<int, size_t>, void *> kept;
    void *&memory = kept[{number, count}];
    if (!memory) memory = aligned_alloc(256, (count * sizeof(float) + 255) / 256 * 256);
    memset(memory, 0, count * sizeof(float));
    allocated[CUdeviceptr(memory)] = count * sizeof(float);
    return static_cast<float *>(memory);
}

template <class Work>
void launch(Function *function, unsigned blocks, unsigned rows, unsigned threads, void **parameters,
            Work work) {
    cuLaunchKernel_params words = {reinterpret_cast<CUfunction>(function), blocks, rows, 1, threads, 1,
                                   1, 0, nullptr, parameters, nullptr};
    CUresult result = CUDA_SUCCESS;
    CUpti_CallbackData data = {};
    data.functionParams = &words;
    data.functionReturnValue = &result;
    data.symbolName = function->name;
    data.correlationId = timed.size() + 1;
    data.callbackSite = CUPTI_API_ENTER;
    auto id = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
    if (callback) callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    launched = work;
    work();
    data.callbackSite = CUPTI_API_EXIT;
    if (callback) callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    CUpti_ActivityKernel4 one = {};
    one.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    one.start = 1000;
    one.end = 1000 + 500 * (timed.size() + 1);
    one.correlationId = data.correlationId;
    timed.push_back(one);
}

void smooth_once(int n) {
    float *in = allocate(1, n + 2), *out = allocate(2, n), *from = in + 1;
    for (int i = 0; i < n + 2; i++) in[i] = float(i % 13);
    void *parameters[] = {&from, &out, &n};
    launch(&smooth, (n + 127) / 128, 1, 128, parameters, [&] {
        float drift = getenv("DRIFTS") ? made++ : 0;
        for (int i = 0; i < n; i++) out[i] += from[i - 1] + from[i] + from[i + 1] + drift;
    });
}

void sample_once(int width, int height) {
    image_width = width;
    image_height = height;
    image.resize(width * height);
    for (size_t i = 0; i < image.size(); i++) image[i] = i * 7;
    float *out = allocate(3, image.size());
    unsigned long long texture = 1;
    void *parameters[] = {&texture, &out, &width, &height};
    launch(&sample, (width + 63) / 64, height, 64, parameters, [&] {
        for (size_t i = 0; i < image.size(); i++) out[i] = 2.0f * (image[i] / 255.0f);
    });
}

}  // namespace

extern "C" {

CUresult cuFuncGetParamInfo(CUfunction f, size_t index, size_t *offset, size_t *size) {
    auto &sizes = reinterpret_cast<Function *>(f)->sizes;
    if (index >= sizes.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = 8 * index;
    *size = sizes[index];
    return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel, size_t, size_t *, size_t *) {
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttributes(unsigned, CUpointer_attribute *, void **data, CUdeviceptr address) {
    auto found = allocated.upper_bound(address);
    if (found == allocated.begin()) return CUDA_ERROR_INVALID_VALUE;
    --found;
    if (address >= found->first + found->second) return CUDA_ERROR_INVALID_VALUE;
    *static_cast<CUmemorytype *>(data[0]) = CU_MEMORYTYPE_DEVICE;
    *static_cast<CUdeviceptr *>(data[1]) = found->first;
    *static_cast<size_t *>(data[2]) = found->second;
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
    memcpy(to, reinterpret_cast<void *>(from), bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
    memcpy(reinterpret_cast<void *>(to), from, bytes);
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void **parameters, void **) {
    cuLaunchKernel_params words = {};
    CUpti_CallbackData data = {};
    data.functionParams = &words;
    for (auto site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
        data.callbackSite = site;
        callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
        if (site == CUPTI_API_ENTER) launched();
    }
    return parameters ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, unsigned, CUstream, void **) {
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D *copy) {
    if (copy->WidthInBytes != image_width || copy->Height != image_height || copy->Depth != 1)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(copy->dstHost, image.data(), image.size());
    return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *one, CUtexObject) {
    *one = {};
    one->resType = CU_RESOURCE_TYPE_ARRAY;
    return CUDA_SUCCESS;
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *one, CUtexObject) {
    *one = {};
    one->addressMode[0] = one->addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
    return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *one, CUarray) {
    *one = {image_width, image_height, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }

CUresult cuCtxGetDevice(CUdevice *device) {
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus *status) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **, CUfunction) { return CUDA_ERROR_INVALID_VALUE; }
CUresult cuFuncGetModule(CUmodule *, CUfunction) { return CUDA_ERROR_INVALID_VALUE; }
CUresult cuKernelGetLibrary(CUlibrary *, CUkernel) { return CUDA_ERROR_INVALID_VALUE; }
CUresult cuModuleGetGlobal(CUdeviceptr *, size_t *, CUmodule, const char *) {
    return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuLibraryGetGlobal(CUdeviceptr *, size_t *, CUlibrary, const char *) {
    return CUDA_ERROR_INVALID_VALUE;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *, CUpti_CallbackFunc function, void *) {
    if (getenv("OTHER_PROFILER")) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    callback = function;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                CUpti_CallbackId) {
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult, const char **text) {
    *text = "another profiler is there";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc done) {
    room = request;
    complete = done;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityFlushAll(uint32_t) {
    for (size_t given = 0; given < timed.size();) {
        uint8_t *buffer = nullptr;
        size_t size = 0, most = 0;
        room(&buffer, &size, &most);
        size_t count = std::min(size / sizeof(timed[0]), timed.size() - given);
        memcpy(buffer, &timed[given], count * sizeof(timed[0]));
        complete(nullptr, 0, buffer, size, count * sizeof(timed[0]));
        given += count;
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, CUpti_Activity **one) {
    auto first = reinterpret_cast<CUpti_ActivityKernel4 *>(buffer);
    auto next = *one ? reinterpret_cast<CUpti_ActivityKernel4 *>(*one) + 1 : first;
    if (next == first + bytes / sizeof(*first)) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *one = reinterpret_cast<CUpti_Activity *>(next);
    return CUPTI_SUCCESS;
}
}

// driver LAUNCHES [abort | wait]
int main(int argc, char **argv) {
    InitializeInjection();
    for (int i = 0; i < atoi(argv[1]); i++) {
        smooth_once(200 + 50 * (i % 5));
        if (i < 3) sample_once(100 + 10 * i, 20 + i);
    }
    if (argc > 2 && !strcmp(argv[2], "wait")) pause();
    if (argc > 2) abort();
}
