// Loaded into an application by CUDA (CUDA_INJECTION64_PATH): writes down what it launches.
//
// GI_CUDA_CAPTURE names a folder. Each process that uses CUDA makes a folder of its own in it:
//   kernels.txt    a mangled name in each line
//   launches.bin   a Record for each launch, in order; none with takes
//   times.bin      a Time for each kernel that ended, in any order
//   launch-N.json  what launch N got, if the plan asks for it, and the files beside it that hold
//                  its memories before and after it, and after it was made again; what did not
//                  change is kept once
//   ended          that it was ended before it had come to its end
//   trouble.txt    why nothing can be written down
// C's files only: an application brings its own C++ library, which may not go with ours.
// The file `plan` in GI_CUDA_CAPTURE says what is asked for, in lines:
//   take ORDINAL NAME      the launch of that number, from 0, of the kernel of that mangled name
//   texture NUMBER         a parameter, from 0, that is a texture object
//   symbol NAME NAMES...   a variable of the device, and how its name may be mangled
//   again NUMBER           a launch that is taken is made so often again, with what it got
//   limit BYTES            so much may be kept
//   seconds NUMBER         the process is ended after so long
// Without takes, kernels are timed. With takes, launches are only counted until all are taken: then
// the process is ended.
// Records lie in shared memory, so they outlive a process that dies.

#include <cuda.h>
#include <cupti.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
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
    uint64_t stream, correlation;
};
static_assert(sizeof(Record) == 56, "as capture/recording.py reads it");

struct Time {
    uint64_t correlation, nanoseconds;  // of the launch, by CUPTI's number for it
};

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
    int launches = -1, times = -1;
    bool full = false, told = false;
    CUpti_SubscriberHandle subscriber = nullptr;
    Record *page = nullptr;
    uint64_t count = 0;
    std::unordered_map<std::string, uint32_t> numbers;
    std::unordered_map<CUfunction, std::pair<const char *, uint32_t>> known;  // by name's place
    std::vector<std::vector<uint32_t>> wanted;  // ordinals by kernel
    std::vector<uint32_t> seen;
    std::map<std::string, std::vector<uint32_t>> takes;
    std::vector<Symbol> symbols;
    std::vector<size_t> textures;
    uint64_t limit = 0, kept = 0;
    std::map<std::pair<CUdeviceptr, size_t>, std::string> lying;  // what memories held last: files
    size_t left = 0, whole = 0;  // takes that did not happen yet; of which all was kept
    unsigned seconds = 0, again = 0;
    Taken taken;
    bool taking = false;
    bool own = false;  // whether it is this library that launches
};

State &state() {
    static State *one = new State;  // never destroyed: launches may come while a process ends
    return *one;
}

constexpr uint64_t PAGE = 1 << 16;  // records

void trouble(const std::string &text) {
    FILE *file = fopen((state().folder + "/trouble.txt").c_str(), "a");
    if (!file) return;
    fprintf(file, "%s\n", text.c_str());
    fclose(file);
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

bool write(const std::string &name, const char *bytes, size_t count) {
    std::string path = state().folder + "/" + name;
    FILE *file = fopen(path.c_str(), "wb");
    if (!file) return false;
    bool whole = fwrite(bytes, 1, count, file) == count;
    whole = !fclose(file) && whole;
    if (!whole) unlink(path.c_str());
    return whole;
}

// Bytes that may still be kept. Two launches are needed, one to search with and one to validate
// with, and may take all; others are worth a part.
uint64_t room() {
    State &s = state();
    uint64_t most = s.whole < 2 ? s.limit : s.limit / 4;
    return !s.limit ? UINT64_MAX : most > s.kept ? most - s.kept : 0;
}

// Whether a memory holds what a file does; false also where it cannot be read.
bool holds(const Memory &memory, const std::string &name) {
    FILE *file = fopen((state().folder + "/" + name).c_str(), "rb");
    if (!file) return false;
    std::vector<char> piece;
    bool same = true;
    bool whole = read(memory, [&](const char *bytes, size_t count) {
        piece.resize(count);
        same = fread(piece.data(), 1, count, file) == count && !memcmp(piece.data(), bytes, count);
        return same;
    });
    fclose(file);
    return whole && same;
}

// The file that has what a memory holds: that of before, or a new one. Empty where there is none.
std::string keep(const Memory &memory, const std::string &name, std::string *trouble) {
    State &s = state();
    std::string *last = memory.base ? &s.lying[{memory.base, memory.size}] : nullptr;
    if (last && !last->empty() && holds(memory, *last)) return *last;
    if (memory.size > room()) {
        *trouble = "limit " + std::to_string(memory.size);
        return "";
    }
    std::string path = s.folder + "/" + name;
    FILE *file = fopen(path.c_str(), "wb");
    bool whole = file;
    if (file && !read(memory, [&](const char *bytes, size_t count) {
            return whole = fwrite(bytes, 1, count, file) == count;
        }))
        *trouble = "unreadable";
    if (file) whole = !fclose(file) && whole;
    if (!whole) *trouble = "disk";
    if (!trouble->empty()) {
        unlink(path.c_str());
        return "";
    }
    s.kept += memory.size;
    if (last) *last = name;
    return name;
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
    for (const Memory &memory : taken->memories) bytes += memory.size;
    if (bytes > room()) {
        taken->trouble = "limit " + std::to_string(bytes);
        return;
    }
    for (size_t i = 0; i < taken->memories.size() && taken->trouble.empty(); i++) {
        Memory &memory = taken->memories[i];
        memory.before = keep(memory, file_of(taken->sequence, i, "before"), &taken->trouble);
        if (!memory.before.empty())
            read(memory, [&](const char *piece, size_t count) {
                memory.addresses += addresses_in(piece, count, taken->memories);
                return true;
            });
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

// `[1, 2]`
template <class Numbers>
std::string list(const Numbers &numbers) {
    std::string text;
    for (auto number : numbers) text += (text.empty() ? "[" : ", ") + std::to_string(number);
    return text + "]";
}

std::string described(const Texture &one) {
    auto &how = one.how;
    auto modes = how.addressMode;
    return ", \"texture\": {\"parameter\": " + std::to_string(one.parameter) +
           ", \"format\": " + std::to_string(one.format) +
           ", \"channels\": " + std::to_string(one.channels) +
           ", \"size\": " + list(std::vector<size_t>{one.width, one.height, one.depth}) +
           ", \"layered\": " + std::to_string(one.layered) +
           ", \"linear\": " + std::to_string(one.resource.resType == CU_RESOURCE_TYPE_LINEAR) +
           ", \"address\": " + list(std::vector<int>{modes[0], modes[1], modes[2]}) +
           ", \"filter\": " + std::to_string(how.filterMode) +
           ", \"flags\": " + std::to_string(how.flags) + "}";
}

std::string described(const Memory &one) {
    std::string text = "{\"base\": " + std::to_string(one.base) +
                       ", \"size\": " + std::to_string(one.size) + ", \"symbol\": \"" + one.name +
                       "\", \"addresses\": " + std::to_string(one.addresses) +
                       ", \"before\": \"" + one.before + "\", \"after\": \"" + one.after +
                       "\", \"again\": [";
    for (size_t i = 0; i < one.again.size(); i++)
        text += (i ? ", \"" : "\"") + one.again[i] + "\"";
    text += "]";
    for (const Texture &its : one.texture) text += described(its);
    return text + "}";
}

void describe(const Taken &taken) {
    std::string parameters, pointers, memories;
    for (const Parameter &one : taken.parameters)
        parameters += (parameters.empty() ? "\n  \"" : ",\n  \"") + hex(one.bytes) + "\"";
    for (const Pointer &one : taken.pointers)
        pointers += (pointers.empty() ? "\n  " : ",\n  ") + ("{\"parameter\": " +
                    std::to_string(one.parameter)) + ", \"at\": " + std::to_string(one.at) +
                    ", \"memory\": " + std::to_string(one.memory) +
                    ", \"offset\": " + std::to_string(one.offset) + "}";
    for (size_t i = 0; i < taken.memories.size(); i++)
        memories += (i ? ",\n  " : "\n  ") + described(taken.memories[i]);
    std::string text = "{\"sequence\": " + std::to_string(taken.sequence) +
                       ", \"ordinal\": " + std::to_string(taken.ordinal) + ", \"kernel\": \"" +
                       taken.kernel + "\", \"grid\": " + list(taken.launch.grid) +
                       ", \"block\": " + list(taken.launch.block) +
                       ", \"shared\": " + std::to_string(taken.launch.shared) +
                       ", \"trouble\": \"" + taken.trouble + "\",\n \"parameters\": [" + parameters +
                       "],\n \"pointers\": [" + pointers + "],\n \"memories\": [" + memories + "]}\n";
    std::string name = "launch-" + std::to_string(taken.sequence) + ".json", part = name + ".part";
    const std::string &folder = state().folder;
    if (write(part, text.data(), text.size()))
        rename((folder + "/" + part).c_str(), (folder + "/" + name).c_str());
    else
        trouble("there is no room on the disk");
}

// Makes a launch again.
bool launch(const Launch &one) {
    auto with = [&](auto make, auto... more) {
        return make(one.function, one.grid[0], one.grid[1], one.grid[2], one.block[0], one.block[1],
                    one.block[2], one.shared, one.stream, one.parameters, more...);
    };
    bool cooperative = one.flags & COOPERATIVE;
    CUresult failed = cooperative ? with(cuLaunchCooperativeKernel) : with(cuLaunchKernel, one.extra);
    return !failed && cuCtxSynchronize() == CUDA_SUCCESS;
}

// Makes a launch again with what it got, and keeps what it makes of that: what differs then differs
// from run to run. At the end memory is as the launch left it.
void repeat(Taken *taken) {
    State &s = state();
    std::string trouble;
    auto written = [](const Memory &one) { return one.before != one.after; };
    auto filled = [&](std::string Memory::*when) {
        bool whole = true;
        for (Memory &one : taken->memories) {
            if (!written(one)) continue;
            whole = whole && fill(one, s.folder + "/" + one.*when);
            s.lying[{one.base, one.size}] = one.*when;
        }
        return whole;
    };
    s.own = true;
    for (unsigned time = 0; time < s.again && trouble.empty(); time++) {
        if (!filled(&Memory::before) || !launch(taken->launch)) break;
        for (size_t i = 0; i < taken->memories.size() && trouble.empty(); i++) {
            Memory &one = taken->memories[i];
            if (!written(one)) continue;
            std::string name = file_of(taken->sequence, i, "again-") + std::to_string(time);
            std::string &last = s.lying[{one.base, one.size}];
            last = one.after;
            std::string held = keep(one, name, &trouble);
            if (!held.empty()) one.again.push_back(held);
        }
    }
    filled(&Memory::after);
    s.own = false;
}

void finish(Taken *taken) {
    if (taken->trouble.empty())
        if (CUresult failed = cuCtxSynchronize()) taken->trouble = "failed " + std::to_string(failed);
    for (size_t i = 0; taken->trouble.empty() && i < taken->memories.size(); i++) {
        Memory &memory = taken->memories[i];
        memory.after = memory.texture.empty() ? keep(memory, file_of(taken->sequence, i, "after"),
                                                     &taken->trouble)
                                              : memory.before;
    }
    if (taken->trouble.empty()) {
        state().whole++;
        repeat(taken);
    }
    describe(*taken);
}

void note(const Launch &launch, uint32_t kernel, uint64_t sequence, uint64_t correlation) {
    State &s = state();
    CUdevice device = 0;
    cuCtxGetDevice(&device);
    if (Record *into = record(sequence)) {
        *into = {kernel,          {launch.grid[0], launch.grid[1], launch.grid[2]},
                 {launch.block[0], launch.block[1], launch.block[2]},
                 launch.shared,   uint32_t(device),
                 launch.flags,    uint64_t(launch.stream),
                 correlation};
    } else if (!s.told) {
        s.told = true;
        trouble("there is no room on the disk");
    }
}

void begin(const Launch &launch, const CUpti_CallbackData *data) {
    State &s = state();
    std::lock_guard<std::mutex> guard(s.mutex);
    const char *name = data->symbolName;
    if (launch.known && !name) cuFuncGetName(&name, launch.function);
    if (!name) name = "?";
    uint32_t kernel = NO_KERNEL;
    if (launch.known) {
        auto &before = s.known[launch.function];
        if (before.first != name) before = {name, number_of(name)};
        kernel = before.second;
    }
    uint64_t sequence = s.count++;
    if (s.takes.empty()) note(launch, kernel, sequence, data->correlationId);
    if (s.takes.empty() || !launch.known) return;
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

const CUpti_CallbackId LAUNCHES[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                     CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                                     CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                     CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
                                     CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                                     CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
                                     CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
                                     CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};

CUptiResult follow() {
    CUptiResult failed = CUPTI_SUCCESS;
    for (CUpti_CallbackId id : LAUNCHES)
        if (!failed)
            failed = cuptiEnableCallback(1, state().subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    return failed;
}

void end(const CUpti_CallbackData *data) {
    State &s = state();
    bool last = false;
    {
        std::lock_guard<std::mutex> guard(s.mutex);
        if (s.taking) {
            auto result = static_cast<const CUresult *>(data->functionReturnValue);
            if (s.taken.trouble.empty() && result && *result)
                s.taken.trouble = "failed " + std::to_string(*result);
            finish(&s.taken);
            s.taken = Taken();
            s.taking = false;
            last = --s.left == 0;
        }
    }
    if (last) _exit(0);  // nobody asks for what it would do further
}

thread_local int inside = 0;  // launches that this thread is in, and waits for others in

void CUPTIAPI launched(void *, CUpti_CallbackDomain, CUpti_CallbackId id, const void *given) {
    State &s = state();
    auto data = static_cast<const CUpti_CallbackData *>(given);
    if (getpid() != s.pid) return;  // a child that was forked
    if (s.takes.empty()) {
        if (data->callbackSite == CUPTI_API_ENTER) begin(launch_of(id, data->functionParams), data);
        return;
    }
    if (data->callbackSite == CUPTI_API_ENTER) {
        s.one_launch.lock();  // the thread that launches for this library has it
        if (s.own) {
            s.one_launch.unlock();
            return;
        }
        inside++;
        begin(launch_of(id, data->functionParams), data);
    } else if (inside && !s.own) {
        inside--;
        end(data);
        s.one_launch.unlock();
    }
}

void CUPTIAPI give_room(uint8_t **buffer, size_t *size, size_t *records) {
    *size = 1 << 20;
    *buffer = static_cast<uint8_t *>(aligned_alloc(8, *size));
    *records = 0;
}

void CUPTIAPI timed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid) {
    State &s = state();
    std::vector<Time> found;
    CUpti_Activity *one = nullptr;
    while (getpid() == s.pid && cuptiActivityGetNextRecord(buffer, valid, &one) == CUPTI_SUCCESS) {
        if (one->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
        // Later versions of this struct only have more behind it.
        auto kernel = reinterpret_cast<CUpti_ActivityKernel4 *>(one);
        found.push_back({kernel->correlationId, kernel->end - kernel->start});
    }
    size_t bytes = found.size() * sizeof(Time);  // appended at once: several threads may do so
    if (bytes && ::write(s.times, found.data(), bytes) != ssize_t(bytes)) s.times = -1;
    free(buffer);
}

void ending() {
    if (getpid() == state().pid) cuptiActivityFlushAll(1);
}

void *end_in_time(void *) {
    State &s = state();
    sleep(s.seconds);
    if (s.takes.empty()) cuptiActivityFlushAll(1);
    write("ended", "", 0);
    _exit(0);
}

bool read_plan(const std::string &path) {
    State &s = state();
    FILE *file = fopen(path.c_str(), "r");
    char *line = nullptr;
    size_t room = 0;
    while (file && getline(&line, &room, file) >= 0) {
        std::vector<std::string> words;
        char *rest = nullptr;
        for (char *word = strtok_r(line, " \n", &rest); word; word = strtok_r(nullptr, " \n", &rest))
            words.push_back(word);
        if (words.size() < 2) continue;
        const std::string &what = words[0];
        if (what == "take" && words.size() == 3) {
            s.takes[words[2]].push_back(strtoul(words[1].c_str(), nullptr, 10));
            s.left++;
        } else if (what == "symbol") {
            s.symbols.push_back({words[1], {words.begin() + 2, words.end()}});
        } else if (what == "texture") {
            s.textures.push_back(strtoul(words[1].c_str(), nullptr, 10));
        } else if (what == "limit") {
            s.limit = strtoull(words[1].c_str(), nullptr, 10);
        } else if (what == "again") {
            s.again = strtoul(words[1].c_str(), nullptr, 10);
        } else if (what == "seconds") {
            s.seconds = strtoul(words[1].c_str(), nullptr, 10);
        }
    }
    free(line);
    if (file) fclose(file);
    return file;
}

bool subscribe() {
    CUptiResult failed = cuptiSubscribe(&state().subscriber, launched, nullptr);
    if (!failed) failed = follow();
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
    s.times = open((s.folder + "/times.bin").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (!s.kernels || s.launches < 0 || s.times < 0) {
        s.pid = -1;
        return 1;
    }
    if (!read_plan(std::string(folder) + "/plan")) trouble("the plan cannot be read");
    if (!subscribe()) return 1;
    if (s.takes.empty()) {
        CUptiResult failed = cuptiActivityRegisterCallbacks(give_room, timed);
        if (!failed) failed = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        if (!failed) atexit(ending);
    }
    pthread_t clock;
    if (s.seconds && !pthread_create(&clock, nullptr, end_in_time, nullptr)) pthread_detach(clock);
    return 1;
}
