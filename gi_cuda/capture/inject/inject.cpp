// Loaded into an application by CUDA (CUDA_INJECTION64_PATH): writes down what it launches.
//
// GI_CUDA_CAPTURE names a folder. Each process that uses CUDA makes a folder of its own in it:
//   kernels.txt    a mangled name in each line
//   launches.bin   a Record for each launch, in order
//   launch-N.json  what launch N got, if the plan asks for it; buffers lie beside it as N-I.before
//                  and, where the kernel changed them, N-I.after
//   trouble.txt    why nothing can be written down
// The file `plan` in GI_CUDA_CAPTURE says what is asked for, in lines:
//   take ORDINAL NAME      the launch of that number, from 0, of the kernel of that mangled name
//   texture NUMBER         a parameter, from 0, that is a texture object
//   symbol NAME NAMES...   a variable of the device, and how its name may be mangled
//   limit BYTES            so much may be kept
// Without takes, kernels are timed. Records lie in shared memory, so they outlive a process that dies.

#include <cuda.h>
#include <cupti.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "launches.hpp"
#include "memories.hpp"

namespace {

constexpr uint32_t NO_KERNEL = 0xffffffff;  // of a graph, whose kernels are not seen

struct Record {
    uint32_t kernel, grid[3], block[3], shared, device, flags;
    uint64_t stream, nanoseconds;
};
static_assert(sizeof(Record) == 56, "as capture/recording.py reads it");

struct Pointer {
    size_t parameter, at, memory, offset;
};

struct Parameter {
    size_t offset, size;
    std::vector<unsigned char> bytes;
};

struct Taken {
    Launch launch;
    uint64_t sequence = 0;
    uint32_t ordinal = 0;
    std::string kernel, trouble;
    std::vector<Parameter> parameters;
    std::vector<Pointer> pointers;
    std::vector<Memory> memories;
};

struct State {
    std::mutex mutex;
    std::recursive_mutex one_launch;  // others wait while one is taken
    std::string folder;
    pid_t pid = 0;
    FILE *kernels = nullptr;
    int launches = -1;
    bool full = false, told = false;
    Record *page = nullptr;
    uint64_t count = 0;
    std::unordered_map<std::string, uint32_t> numbers;
    std::unordered_map<CUfunction, std::pair<const char *, uint32_t>> known;  // by name's place
    std::unordered_map<uint32_t, uint64_t> untimed;  // by correlation, the launch
    std::vector<std::vector<uint32_t>> wanted;       // ordinals by kernel
    std::vector<uint32_t> seen;
    std::map<std::string, std::vector<uint32_t>> takes;
    std::vector<Symbol> symbols;
    std::vector<size_t> textures;
    uint64_t limit = 0, kept = 0;
    Taken taken;
    bool taking = false;
};

State &state() {
    static State *one = new State;  // never destroyed: launches may come while a process ends
    return *one;
}

constexpr uint64_t PAGE = 1 << 16;  // records

void trouble(const std::string &text) {
    std::ofstream(state().folder + "/trouble.txt", std::ios::app) << text << "\n";
}

Record *record(uint64_t index) {
    State &s = state();
    if (index % PAGE == 0) {
        if (s.page) munmap(s.page, PAGE * sizeof(Record));
        off_t begin = index * sizeof(Record);
        size_t bytes = PAGE * sizeof(Record);
        s.page = nullptr;
        // Of a file with holes, a page that the disk has no room for would end the application.
        if (s.full || (s.full = posix_fallocate(s.launches, begin, bytes))) return nullptr;
        void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s.launches, begin);
        if (at == MAP_FAILED) return nullptr;
        s.page = static_cast<Record *>(at);
    }
    return s.page ? s.page + index % PAGE : nullptr;
}

uint32_t number_of(const std::string &name) {
    State &s = state();
    auto found = s.numbers.find(name);
    if (found != s.numbers.end()) return found->second;
    uint32_t number = s.numbers.size();
    s.numbers[name] = number;
    fprintf(s.kernels, "%s\n", name.c_str());
    fflush(s.kernels);
    auto take = s.takes.find(name);
    s.wanted.push_back(take == s.takes.end() ? std::vector<uint32_t>() : take->second);
    s.seen.push_back(0);
    return number;
}

void read_parameters(const Launch &launch, Taken *taken) {
    const unsigned char *whole = packed(launch.extra);
    size_t offset = 0, size = 0;
    for (size_t i = 0; parameter_info(launch.function, i, &offset, &size); i++) {
        const unsigned char *from = whole ? whole + offset : nullptr;
        if (!whole && launch.parameters)
            from = static_cast<const unsigned char *>(launch.parameters[i]);
        if (!from) return;
        taken->parameters.push_back({offset, size, {from, from + size}});
    }
}

void find_memories(Taken *taken) {
    for (size_t i = 0; i < taken->parameters.size(); i++) {
        const Parameter &one = taken->parameters[i];
        for (size_t at = 0; at + 8 <= one.size; at += 8) {
            CUdeviceptr address;
            Memory memory;
            memcpy(&address, one.bytes.data() + at, 8);
            if (!memory_of(address, &memory)) continue;
            size_t place = 0;
            while (place < taken->memories.size() && taken->memories[place].base != memory.base)
                place++;
            if (place == taken->memories.size()) taken->memories.push_back(memory);
            taken->pointers.push_back({i, at, place, size_t(address - memory.base)});
        }
    }
}

std::string file_of(uint64_t sequence, size_t index, const char *when) {
    return std::to_string(sequence) + "-" + std::to_string(index) + "." + when;
}

bool write(const std::string &name, const std::vector<char> &bytes) {
    std::ofstream file(state().folder + "/" + name, std::ios::binary);
    file.write(bytes.data(), bytes.size());
    file.close();
    if (!file) unlink((state().folder + "/" + name).c_str());
    return bool(file);
}

void take(const Launch &launch, Taken *taken) {
    State &s = state();
    if (launch.flags & CLUSTER) {
        taken->trouble = "cluster";
        return;
    }
    CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    if (cuStreamIsCapturing(launch.stream, &capturing) == CUDA_SUCCESS &&
        capturing != CU_STREAM_CAPTURE_STATUS_NONE) {
        taken->trouble = "graph";
        return;
    }
    if (CUresult failed = cuCtxSynchronize()) {
        taken->trouble = "failed before " + std::to_string(failed);
        return;
    }
    read_parameters(launch, taken);
    find_memories(taken);
    for (size_t number : s.textures) {
        CUtexObject object = 0;
        Memory memory;
        bool there = number < taken->parameters.size() && taken->parameters[number].size == 8;
        if (there) memcpy(&object, taken->parameters[number].bytes.data(), 8);
        if (!there || !texture_of(object, number, &memory)) {
            taken->trouble = "texture";
            return;
        }
        taken->memories.push_back(memory);
    }
    for (const Symbol &symbol : s.symbols) {
        Memory memory;
        if (global_of(launch.function, symbol, &memory)) taken->memories.push_back(memory);
    }
    uint64_t bytes = 0;
    for (const Memory &memory : taken->memories) bytes += 2 * memory.size;
    if (s.limit && s.kept + bytes > s.limit) {
        taken->trouble = "limit " + std::to_string(bytes);
        return;
    }
    s.kept += bytes;
    for (size_t i = 0; i < taken->memories.size(); i++) {
        Memory &memory = taken->memories[i];
        if (!read(memory, &memory.before))
            taken->trouble = "unreadable";
        else if (!write(file_of(taken->sequence, i, "before"), memory.before))
            taken->trouble = "disk";
        if (!taken->trouble.empty()) return;
        memory.addresses = addresses_in(memory.before, taken->memories);
    }
}

std::string hex(const std::vector<unsigned char> &bytes) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (unsigned char byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

void describe(const Texture &one, std::ostream &out) {
    out << ", \"texture\": {\"parameter\": " << one.parameter << ", \"format\": " << one.format
        << ", \"channels\": " << one.channels << ", \"size\": [" << one.width << ", " << one.height
        << ", " << one.depth << "], \"layered\": " << one.layered
        << ", \"linear\": " << (one.resource.resType == CU_RESOURCE_TYPE_LINEAR)
        << ", \"address\": [" << one.how.addressMode[0] << ", " << one.how.addressMode[1] << ", "
        << one.how.addressMode[2] << "], \"filter\": " << one.how.filterMode
        << ", \"flags\": " << one.how.flags << "}";
}

void describe(const Taken &taken, const std::vector<bool> &changed) {
    std::ostringstream out;
    const unsigned *g = taken.launch.grid, *b = taken.launch.block;
    out << "{\"sequence\": " << taken.sequence << ", \"ordinal\": " << taken.ordinal
        << ", \"kernel\": \"" << taken.kernel << "\", \"grid\": [" << g[0] << ", " << g[1] << ", "
        << g[2] << "], \"block\": [" << b[0] << ", " << b[1] << ", " << b[2]
        << "], \"shared\": " << taken.launch.shared << ", \"trouble\": \"" << taken.trouble
        << "\",\n \"parameters\": [";
    for (size_t i = 0; i < taken.parameters.size(); i++)
        out << (i ? ",\n  " : "\n  ") << "\"" << hex(taken.parameters[i].bytes) << "\"";
    out << "],\n \"pointers\": [";
    for (size_t i = 0; i < taken.pointers.size(); i++) {
        const Pointer &one = taken.pointers[i];
        out << (i ? ",\n  " : "\n  ") << "{\"parameter\": " << one.parameter
            << ", \"at\": " << one.at << ", \"memory\": " << one.memory
            << ", \"offset\": " << one.offset << "}";
    }
    out << "],\n \"memories\": [";
    for (size_t i = 0; i < taken.memories.size(); i++) {
        const Memory &one = taken.memories[i];
        out << (i ? ",\n  " : "\n  ") << "{\"base\": " << one.base << ", \"size\": " << one.size
            << ", \"symbol\": \"" << one.name
            << "\", \"addresses\": " << one.addresses << ", \"changed\": " << (i < changed.size() && changed[i] ? "true" : "false");
        for (const Texture &its : one.texture) describe(its, out);
        out << "}";
    }
    out << "]}\n";
    std::string name = state().folder + "/launch-" + std::to_string(taken.sequence) + ".json";
    std::ofstream(name + ".part") << out.str();
    rename((name + ".part").c_str(), name.c_str());
}

void finish(Taken *taken) {
    std::vector<bool> changed(taken->memories.size());
    if (taken->trouble.empty())
        if (CUresult failed = cuCtxSynchronize()) taken->trouble = "failed " + std::to_string(failed);
    std::vector<char> after;
    for (size_t i = 0; taken->trouble.empty() && i < taken->memories.size(); i++) {
        Memory &memory = taken->memories[i];
        if (!memory.texture.empty()) continue;
        if (!read(memory, &after)) taken->trouble = "unreadable";
        changed[i] = taken->trouble.empty() && after != memory.before;
        if (changed[i] && !write(file_of(taken->sequence, i, "after"), after))
            taken->trouble = "disk";
    }
    describe(*taken, changed);
}

void begin(const Launch &launch, const CUpti_CallbackData *data) {
    State &s = state();
    if (!s.takes.empty()) s.one_launch.lock();
    std::lock_guard<std::mutex> guard(s.mutex);
    CUdevice device = 0;
    cuCtxGetDevice(&device);
    const char *name = data->symbolName;
    if (launch.known && !name) cuFuncGetName(&name, launch.function);
    if (!name) name = "?";
    uint32_t kernel = NO_KERNEL;
    if (launch.known) {
        auto &before = s.known[launch.function];
        if (before.first != name) before = {name, number_of(name)};
        kernel = before.second;
    }
    uint64_t sequence = s.count;
    if (Record *into = record(sequence)) {
        Record filled = {kernel,          {launch.grid[0], launch.grid[1], launch.grid[2]},
                         {launch.block[0], launch.block[1], launch.block[2]},
                         launch.shared,   uint32_t(device),
                         launch.flags,    uint64_t(launch.stream),
                         0};
        *into = filled;
        s.count++;
    } else if (!s.told) {
        s.told = true;
        trouble("there is no room on the disk");
    }
    if (!launch.known) return;
    if (s.takes.empty()) s.untimed[data->correlationId] = sequence;
    uint32_t ordinal = s.seen[kernel]++;
    for (uint32_t wanted : s.wanted[kernel]) {
        if (wanted != ordinal) continue;
        s.taken = Taken();
        s.taken.sequence = sequence;
        s.taken.ordinal = ordinal;
        s.taken.kernel = name;
        s.taken.launch = launch;
        s.taking = true;
        take(launch, &s.taken);
    }
}

void end(const CUpti_CallbackData *data) {
    State &s = state();
    if (s.takes.empty()) return;
    {
        std::lock_guard<std::mutex> guard(s.mutex);
        if (s.taking) {
            auto result = static_cast<const CUresult *>(data->functionReturnValue);
            if (s.taken.trouble.empty() && result && *result)
                s.taken.trouble = "failed " + std::to_string(*result);
            finish(&s.taken);
            s.taken = Taken();
            s.taking = false;
        }
    }
    s.one_launch.unlock();
}

void CUPTIAPI launched(void *, CUpti_CallbackDomain, CUpti_CallbackId id, const void *given) {
    auto data = static_cast<const CUpti_CallbackData *>(given);
    if (getpid() != state().pid) return;  // a child that was forked
    if (data->callbackSite == CUPTI_API_ENTER)
        begin(launch_of(id, data->functionParams), data);
    else
        end(data);
}

void CUPTIAPI give_room(uint8_t **buffer, size_t *size, size_t *records) {
    *size = 1 << 20;
    *buffer = static_cast<uint8_t *>(aligned_alloc(8, *size));
    *records = 0;
}

void CUPTIAPI timed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid) {
    State &s = state();
    std::lock_guard<std::mutex> guard(s.mutex);
    CUpti_Activity *one = nullptr;
    while (getpid() == s.pid && cuptiActivityGetNextRecord(buffer, valid, &one) == CUPTI_SUCCESS) {
        if (one->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
        // Later versions of this struct only have more behind it.
        auto kernel = reinterpret_cast<CUpti_ActivityKernel4 *>(one);
        auto found = s.untimed.find(kernel->correlationId);
        if (found == s.untimed.end()) continue;
        Record filled;
        off_t at = found->second * sizeof(Record);
        s.untimed.erase(found);
        if (pread(s.launches, &filled, sizeof filled, at) != sizeof filled) continue;
        filled.nanoseconds = kernel->end - kernel->start;
        if (pwrite(s.launches, &filled, sizeof filled, at) != sizeof filled) break;
    }
    free(buffer);
}

void ending() {
    if (getpid() == state().pid) cuptiActivityFlushAll(1);
}

void read_plan(const std::string &path) {
    State &s = state();
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string word, name;
        words >> word;
        if (word == "take") {
            uint32_t ordinal;
            words >> ordinal >> name;
            s.takes[name].push_back(ordinal);
        } else if (word == "symbol") {
            Symbol symbol;
            words >> symbol.name;
            while (words >> name) symbol.mangled.push_back(name);
            s.symbols.push_back(symbol);
        } else if (word == "texture") {
            size_t number;
            words >> number;
            s.textures.push_back(number);
        } else if (word == "limit") {
            words >> s.limit;
        }
    }
}

bool subscribe() {
    const CUpti_CallbackId wanted[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                       CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                                       CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                       CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
                                       CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                                       CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
                                       CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
                                       CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};
    CUpti_SubscriberHandle handle;
    CUptiResult failed = cuptiSubscribe(&handle, launched, nullptr);
    for (CUpti_CallbackId id : wanted)
        if (!failed) failed = cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, id);
    if (failed) {
        const char *text = nullptr;
        cuptiGetResultString(failed, &text);
        trouble(text ? text : "CUPTI fails");
    }
    return !failed;
}

}  // namespace

extern "C" int InitializeInjection() {
    State &s = state();
    const char *folder = getenv("GI_CUDA_CAPTURE");
    if (!folder || s.pid) return 1;
    s.pid = getpid();
    s.folder = std::string(folder) + "/process-" + std::to_string(s.pid);
    for (int again = 2; mkdir(s.folder.c_str(), 0777) && errno == EEXIST; again++)
        s.folder = std::string(folder) + "/process-" + std::to_string(s.pid) + "-" +
                   std::to_string(again);
    s.kernels = fopen((s.folder + "/kernels.txt").c_str(), "w");
    s.launches = open((s.folder + "/launches.bin").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (!s.kernels || s.launches < 0) {
        s.pid = -1;
        return 1;
    }
    read_plan(std::string(folder) + "/plan");
    if (!subscribe()) return 1;
    if (s.takes.empty()) {
        CUptiResult failed = cuptiActivityRegisterCallbacks(give_room, timed);
        if (!failed) failed = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        if (!failed) atexit(ending);
    }
    return 1;
}
