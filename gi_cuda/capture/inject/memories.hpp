// What an address, a variable or a texture object leads to, and reading it.
#pragma once

#include <cuda.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace {

struct Symbol {
    std::string name;
    std::vector<std::string> mangled;
};

// A texture object that a launch got.
struct Texture {
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC how;
    size_t parameter, width, height, depth, texel;
    unsigned format, channels;
    bool layered;
};

struct Memory {
    CUdeviceptr base;
    size_t size;
    bool on_host;
    std::string name;  // of a variable
    std::string before, after;  // files of what it held
    std::vector<std::string> again;  // and of what it held after the same launch, made again
    size_t addresses = 0;  // words in it that are addresses of a device
    std::vector<Texture> texture;  // that it is read through, if any: then nothing writes to it
};

// The memory that an address lies in; false where it is no address.
bool memory_of(CUdeviceptr address, Memory *memory) {
    if (address < 4096) return false;
    CUmemorytype kind = CUmemorytype(0);
    CUdeviceptr base = 0;
    size_t size = 0;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&kind, &base, &size};
    if (cuPointerGetAttributes(3, names, values, address) != CUDA_SUCCESS) return false;
    if (!kind || !base || !size) return false;
    *memory = {base, size, kind == CU_MEMORYTYPE_HOST, "", "", "", {}, 0, {}};
    return true;
}

// How many words, of those near memory of the launch, are addresses; no more than are enough.
size_t addresses_in(const char *bytes, size_t count, const std::vector<Memory> &memories) {
    constexpr int FAR = 36;
    constexpr size_t ENOUGH = 16;
    std::set<CUdeviceptr> places;
    for (const Memory &one : memories) places.insert(one.base >> FAR);
    std::vector<CUdeviceptr> near(places.begin(), places.end());
    size_t found = 0;
    for (size_t at = 0; at + 8 <= count && found < ENOUGH; at += 8) {
        CUdeviceptr word;
        memcpy(&word, bytes + at, 8);
        bool is_near = false;
        for (CUdeviceptr place : near) is_near |= word >> FAR == place;
        Memory memory;
        if (is_near && memory_of(word, &memory) && !memory.on_host) found++;
    }
    return found;
}

size_t bytes_of(unsigned format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8: return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF: return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT: return 4;
        default: return 0;
    }
}

// What a texture object is made of; false where that is none, or one with several levels.
bool texture_of(CUtexObject object, size_t parameter, Memory *memory) {
    Texture one = {};
    one.parameter = parameter;
    if (cuTexObjectGetResourceDesc(&one.resource, object) != CUDA_SUCCESS) return false;
    if (cuTexObjectGetTextureDesc(&one.how, object) != CUDA_SUCCESS) return false;
    auto &from = one.resource.res;
    if (one.resource.resType == CU_RESOURCE_TYPE_LINEAR) {
        one.format = from.linear.format;
        one.channels = from.linear.numChannels;
        one.width = from.linear.sizeInBytes;
    } else if (one.resource.resType == CU_RESOURCE_TYPE_PITCH2D) {
        one.format = from.pitch2D.format;
        one.channels = from.pitch2D.numChannels;
        one.width = from.pitch2D.width;
        one.height = from.pitch2D.height;
    } else if (one.resource.resType == CU_RESOURCE_TYPE_ARRAY) {
        CUDA_ARRAY3D_DESCRIPTOR array;
        if (cuArray3DGetDescriptor(&array, from.array.hArray) != CUDA_SUCCESS) return false;
        one.format = array.Format;
        one.channels = array.NumChannels;
        one.width = array.Width;
        one.height = array.Height;
        one.depth = array.Depth;
        one.layered = array.Flags & CUDA_ARRAY3D_LAYERED;
    } else {
        return false;
    }
    one.texel = bytes_of(one.format) * one.channels;
    if (!one.texel) return false;
    if (one.resource.resType == CU_RESOURCE_TYPE_LINEAR) one.width /= one.texel;
    size_t rows = (one.height ? one.height : 1) * (one.depth ? one.depth : 1);
    *memory = {0, one.width * rows * one.texel, false, "", "", "", {}, 0, {one}};
    return true;
}

bool read_texture(const Texture &one, char *into) {
    auto &from = one.resource.res;
    if (one.resource.resType == CU_RESOURCE_TYPE_LINEAR)
        return cuMemcpyDtoH(into, from.linear.devPtr, one.width * one.texel) == CUDA_SUCCESS;
    CUDA_MEMCPY3D copy = {};
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = into;
    copy.dstPitch = copy.WidthInBytes = one.width * one.texel;
    copy.dstHeight = copy.Height = one.height ? one.height : 1;
    copy.Depth = one.depth ? one.depth : 1;
    if (one.resource.resType == CU_RESOURCE_TYPE_PITCH2D) {
        copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = from.pitch2D.devPtr;
        copy.srcPitch = from.pitch2D.pitchInBytes;
    } else {
        copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.srcArray = from.array.hArray;
    }
    return cuMemcpy3D(&copy) == CUDA_SUCCESS;
}

// Makes a memory hold what a file does.
bool fill(const Memory &memory, const std::string &path) {
    constexpr size_t PIECE = size_t(32) << 20;
    FILE *file = fopen(path.c_str(), "rb");
    if (!file) return false;
    std::vector<char> piece(memory.size < PIECE ? memory.size : PIECE);
    bool whole = true;
    for (size_t at = 0; whole && at < memory.size; at += piece.size()) {
        size_t count = memory.size - at < piece.size() ? memory.size - at : piece.size();
        whole = fread(piece.data(), 1, count, file) == count;
        if (whole && memory.on_host)
            memcpy(reinterpret_cast<char *>(memory.base) + at, piece.data(), count);
        else if (whole)
            whole = cuMemcpyHtoD(memory.base + at, piece.data(), count) == CUDA_SUCCESS;
    }
    fclose(file);
    return whole;
}

// Gives what a memory holds to a function, in pieces, until that says false. Memory may be larger
// than what the application left of the host's. Whether all could be read.
template <class Use>
bool read(const Memory &memory, Use use) {
    constexpr size_t PIECE = size_t(32) << 20;
    bool whole = !memory.texture.empty();
    std::vector<char> piece(whole || memory.size < PIECE ? memory.size : PIECE);
    for (size_t at = 0; at < memory.size; at += piece.size()) {
        size_t count = memory.size - at < piece.size() ? memory.size - at : piece.size();
        if (whole) {
            if (!read_texture(memory.texture[0], piece.data())) return false;
        } else if (memory.on_host) {
            memcpy(piece.data(), reinterpret_cast<const char *>(memory.base) + at, count);
        } else if (cuMemcpyDtoH(piece.data(), memory.base + at, count) != CUDA_SUCCESS) {
            return false;
        }
        if (!use(piece.data(), count)) return true;
    }
    return true;
}

bool global_of(CUfunction function, const Symbol &symbol, Memory *memory) {
    CUmodule module = nullptr;
    CUlibrary library = nullptr;
    bool in_module = cuFuncGetModule(&module, function) == CUDA_SUCCESS;
    bool in_library = !in_module && cuKernelGetLibrary(&library, reinterpret_cast<CUkernel>(
                                                                     function)) == CUDA_SUCCESS;
    for (const std::string &name : symbol.mangled) {
        CUdeviceptr base = 0;
        size_t size = 0;
        if ((in_module && cuModuleGetGlobal(&base, &size, module, name.c_str()) == CUDA_SUCCESS) ||
            (in_library &&
             cuLibraryGetGlobal(&base, &size, library, name.c_str()) == CUDA_SUCCESS)) {
            *memory = {base, size, false, symbol.name, "", "", {}, 0, {}};
            return true;
        }
    }
    return false;
}

}  // namespace
