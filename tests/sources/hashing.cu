// Integer code: bit tricks, structs, references, pointers to pointers, device function chains.
// gi-config:
// gi-config: PROBE_LINEAR=1 STATS=1
#include <stdint.h>

#if defined(PROBE_LINEAR)
#  define NEXT(h, k) (((h) + (k)) & table->mask)
#else
#  define NEXT(h, k) (((h) + (k) * (k)) & table->mask)
#endif
#define EMPTY 0xffffffffu

struct Entry { uint32_t key, value; };
struct Table {
    Entry *entries;
    uint32_t mask;
    __device__ uint32_t size() const { return mask + 1; }
};
class Counter {
public:
    int hits, misses;
    __device__ void hit() { hits++; }
};

__device__ uint32_t mix(uint32_t h);
__device__ int depth_of(int level);

__device__ uint32_t mix(uint32_t h)
{
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return h;
}

__device__ bool find(const Table *table, uint32_t key, uint32_t &value, int limit)
{
    uint32_t h = mix(key) & table->mask;
    int k = 0;
    while (table->entries[h].key != key) {
        if (table->entries[h].key == EMPTY)
            return false;
        k = k + 1;
        if (k > limit) { return false; }
        h = NEXT(h, k);
    }
    value = table->entries[h].value;
    return true;
}

__device__ bool insert(Table *table, uint32_t key, uint32_t value, int limit)
{
    uint32_t h = mix(key) & table->mask;
    for (int k = 1; k < limit; ++k) {
        uint32_t old = atomicCAS(&table->entries[h].key, EMPTY, key);
        if (old == EMPTY || old == key) {
            table->entries[h].value = value;
            return true;
        }
        h = NEXT(h, k);
    }
    return false;
}

__device__ void host_and_device(int *a);
__host__ __device__ int both(int a, int b)
{
    int c = a;
    if (a < b) c = b; else c -= b;
    return c;
}

__global__ void build(Table table, const uint32_t *keys, const uint32_t *values, uint32_t n, int *failed)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t stride = blockDim.x * gridDim.x;
#ifdef STATS
    int tries = 0;
#endif
    for (; i < n; i += stride) {
        uint32_t key = keys[i], value = values[i];
        bool ok = insert(&table, key, value, 64);
        if (!ok) {
            atomicAdd(failed, 1);
        }
#ifdef STATS
        tries++;
        if (tries > 100) atomicMax(failed + 1, tries);
#endif
    }
}

__global__ void query(const Table table, const uint32_t *keys, uint32_t *values, uint32_t n, int **levels)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    Counter counter;
    counter.hits = 0;
    counter.misses = 0;
    if (i >= n) return;
    uint32_t key = keys[i];
    uint32_t value = 0;
    bool found = find(&table, key, value, 64);
    if (found)
        counter.hit();
    else {
        counter.misses += 1;
        value = EMPTY;
    }
    if (levels != nullptr && levels[0]) {
        int *level = levels[0];
        level[0] = both(counter.hits, counter.misses);
        *level += depth_of(level[1]);
        for (int k = 0; k < 3; k++) level[k]++;
    }
    values[i] = value;
}

__device__ int depth_of(int level)
{
    int depth = 0;
    while (level) { level &= level - 1; depth++; }
    return depth;
}
