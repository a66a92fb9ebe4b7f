/*
 * Exact matching of short DNA reads against a genome.
 *
 * Every read is looked for on both strands by the Burrows-Wheeler backward
 * search. The forward strand is searched in the FM-index of the genome, the
 * reverse strand in the FM-index of the reversed genome, with complemented
 * bases: that way both searches take the bases of the read in the same order,
 * from the last one to the first.
 *
 * For read r and strand s, k_out[s * n_reads + r] and l_out[s * n_reads + r] are
 * the first and the last row of the suffix array whose suffixes start with the
 * read. k > l: the read does not occur on that strand.
 */
#include <stdint.h>

/* threads per block */
#ifndef BLOCK_W
#define BLOCK_W 64
#endif

/* threads that load the genome cache into shared memory, 0: no cache */
#ifndef CACHE_THREADS
#define CACHE_THREADS 0
#endif

/* words of the read kept by the thread, 0: every base comes from global memory */
#ifndef SEQUENCE_CACHE
#define SEQUENCE_CACHE 0
#endif

/* bases in one word of a read: 4 (bytes) or 8 (half bytes) */
#ifndef PACKING
#define PACKING 8
#endif

/* 1: word w of all reads lies together, 0: all words of a read do */
#ifndef SEQUENCE_STRIDE
#define SEQUENCE_STRIDE 0
#endif

/* 1: two threads a read, one for k and one for l */
#ifndef KL_PAR
#define KL_PAR 0
#endif

/* 1: a thread for each strand, 0: one thread does both */
#ifndef STRAND_PAR
#define STRAND_PAR 0
#endif

/* 1: as many blocks as it takes, 0: fewer blocks, whose threads do several reads */
#ifndef MANY_BLOCKS
#define MANY_BLOCKS 1
#endif

/* 1: count for k and l in one go where they share a bucket */
#ifndef OCC_PAIR
#define OCC_PAIR 0
#endif

/* copy a bucket in pieces of 1, 2 or 4 words before counting, 0: count where it lies */
#ifndef BWT_CACHE
#define BWT_CACHE 0
#endif

/* USE_LDG: read the index through the read-only data cache */
#ifdef USE_LDG
#define LOAD(address) __ldg(address)
#else
#define LOAD(address) (*(address))
#endif

#define READ_LENGTH 100
#define READ_WORDS ((READ_LENGTH + PACKING - 1) / PACKING)
#define BASE_BITS (32 / PACKING)
#define BASE_MASK ((1u << BASE_BITS) - 1)

/* a bucket: how often A, C, G, T come before it, then 128 bases, 16 to the word */
#define BUCKET_BASES 128
#define BUCKET_WORDS 12
#define BUCKET_COUNTS 4

/* the head of an index: bases, row of the end mark, first row of each base - 1 */
#define HEAD_WORDS 8
#define HEAD_LENGTH 0
#define HEAD_PRIMARY 1
#define HEAD_FIRST 2

/* the genome cache: where the search stands after the last START_BASES bases */
#define START_BASES 4
#define STARTS 256

/* one bit for each of the 16 bases of a word that is c */
static __device__ uint32_t match_bits(uint32_t word, uint32_t c)
{
    uint32_t high = (c & 2) ? word : ~word;
    uint32_t low = (c & 1) ? word : ~word;
    return (high >> 1) & low & 0x55555555u;
}

/* the bucket that holds base k */
static __device__ const uint32_t *get_bucket(const uint32_t *bwt, uint32_t k, uint32_t *copy)
{
    const uint32_t *bucket = bwt + (k / BUCKET_BASES) * BUCKET_WORDS;
#if BWT_CACHE == 0
    return bucket;
#else
    int i;
    for (i = 0; i < BUCKET_WORDS / BWT_CACHE; i++) {
#if BWT_CACHE == 4
        uint4 piece = LOAD((const uint4 *)bucket + i);
        copy[4 * i] = piece.x;
        copy[4 * i + 1] = piece.y;
        copy[4 * i + 2] = piece.z;
        copy[4 * i + 3] = piece.w;
#elif BWT_CACHE == 2
        uint2 piece = LOAD((const uint2 *)bucket + i);
        copy[2 * i] = piece.x;
        copy[2 * i + 1] = piece.y;
#else
        copy[i] = LOAD(bucket + i);
#endif
    }
    return copy;
#endif
}

#if BWT_CACHE == 0
#define BUCKET(i) LOAD(bucket + (i))
#else
#define BUCKET(i) bucket[i]
#endif

/* how often base c occurs in rows 0 to k of the transformed genome */
static __device__ uint32_t occ(const uint32_t *bwt, const uint32_t *head, uint32_t k, uint32_t c)
{
    uint32_t copy[BUCKET_WORDS];
    const uint32_t *bucket;
    uint32_t n, word, bits, last;
    if (k == (uint32_t)-1)
        return 0;
    if (k == head[HEAD_LENGTH])
        return head[HEAD_FIRST + c + 1] - head[HEAD_FIRST + c];
    if (k >= head[HEAD_PRIMARY])
        k--; /* the end mark is not stored */
    bucket = get_bucket(bwt, k, copy);
    n = BUCKET(c);
    last = (k % BUCKET_BASES) / 16;
    for (word = 0; word < last; word++) {
        bits = match_bits(BUCKET(BUCKET_COUNTS + word), c);
        n += __popc(bits);
    }
    bits = match_bits(BUCKET(BUCKET_COUNTS + last), c);
    bits = bits & (0xffffffffu >> (30 - 2 * (k % 16)));
    n += __popc(bits);
    return n;
}

#if OCC_PAIR
/* occ() of k and l, k <= l */
static __device__ void occ_pair(const uint32_t *bwt, const uint32_t *head, uint32_t k, uint32_t l,
                                uint32_t c, uint32_t *occ_k, uint32_t *occ_l)
{
    uint32_t copy[BUCKET_WORDS];
    const uint32_t *bucket;
    uint32_t n, word, bits, k_base, l_base, k_last, l_last;
    k_base = (k >= head[HEAD_PRIMARY]) ? k - 1 : k;
    l_base = (l >= head[HEAD_PRIMARY]) ? l - 1 : l;
    if (k == (uint32_t)-1 || k_base / BUCKET_BASES != l_base / BUCKET_BASES) {
        *occ_k = occ(bwt, head, k, c);
        *occ_l = occ(bwt, head, l, c);
        return;
    }
    bucket = get_bucket(bwt, l_base, copy);
    n = BUCKET(c);
    k_last = (k_base % BUCKET_BASES) / 16;
    l_last = (l_base % BUCKET_BASES) / 16;
    for (word = 0; word <= l_last; word++) {
        bits = match_bits(BUCKET(BUCKET_COUNTS + word), c);
        if (word == k_last)
            *occ_k = n + __popc(bits & (0xffffffffu >> (30 - 2 * (k_base % 16))));
        if (word == l_last)
            bits = bits & (0xffffffffu >> (30 - 2 * (l_base % 16)));
        n += __popc(bits);
    }
    *occ_l = n;
}
#endif

/* base i of a read, 0 to 3, or 4 where it is not known */
static __device__ uint32_t get_base(const uint32_t *reads, uint32_t n_reads, uint32_t read, int i,
                                    uint32_t *words)
{
    uint32_t word;
#if SEQUENCE_STRIDE
    const uint32_t *sequence = reads + read;
    const uint32_t step = n_reads;
#else
    const uint32_t *sequence = reads + read * READ_WORDS;
    const uint32_t step = 1;
#endif
#if SEQUENCE_CACHE
    if (i == READ_LENGTH - 1 || (i + 1) % (SEQUENCE_CACHE * PACKING) == 0) {
        int first = i / PACKING / SEQUENCE_CACHE * SEQUENCE_CACHE;
        int w;
        for (w = 0; w < SEQUENCE_CACHE && first + w < READ_WORDS; w++)
            words[w] = sequence[(first + w) * step];
    }
    word = words[i / PACKING % SEQUENCE_CACHE];
#else
    word = sequence[i / PACKING * step];
#endif
    return (word >> (i % PACKING * BASE_BITS)) & BASE_MASK;
}

/* look for a read on one strand; half: which of the two threads this is, if there are two */
static __device__ uint2 search(const uint32_t *bwt, const uint32_t *head, const uint2 *starts,
                               const uint32_t *reads, uint32_t n_reads, uint32_t read,
                               uint32_t strand, uint32_t half)
{
    uint32_t words[SEQUENCE_CACHE + 1];
    uint32_t k, l, c, occ_k, occ_l;
    const uint2 none = {1, 0};
    uint2 found;
    int i;
    k = 0;
    l = head[HEAD_LENGTH];
    i = READ_LENGTH - 1;
#if CACHE_THREADS
    uint32_t start = 0;
    for (; i >= READ_LENGTH - START_BASES; i--) {
        c = get_base(reads, n_reads, read, i, words);
        if (c > 3)
            return none;
        if (strand == 1)
            c = 3 - c;
        start |= c << (2 * (READ_LENGTH - 1 - i));
    }
    k = starts[strand * STARTS + start].x;
    l = starts[strand * STARTS + start].y;
#endif
    for (; i >= 0; i--) {
        if (k > l)
            break;
        c = get_base(reads, n_reads, read, i, words);
        if (c > 3)
            return none;
        if (strand == 1)
            c = 3 - c;
#if KL_PAR
        uint32_t pair = 3u << (threadIdx.x % 32 / 2 * 2);
        uint32_t mine = occ(bwt, head, half ? l : k - 1, c);
        uint32_t other = __shfl_xor_sync(pair, mine, 1);
        occ_k = half ? other : mine;
        occ_l = half ? mine : other;
#elif OCC_PAIR
        occ_pair(bwt, head, k - 1, l, c, &occ_k, &occ_l);
#else
        occ_k = occ(bwt, head, k - 1, c);
        occ_l = occ(bwt, head, l, c);
#endif
        k = head[HEAD_FIRST + c] + occ_k + 1;
        l = head[HEAD_FIRST + c] + occ_l;
    }
    if (k > l)
        return none;
    found.x = k;
    found.y = l;
    return found;
}

/* reads come in four layouts: 4 or 8 bases to the word, read by read or word by word */
__global__ void bwt_match(const uint32_t *forward, const uint32_t *backward, const uint32_t *heads,
                          const uint2 *starts, const uint32_t *reads4, const uint32_t *reads4_stride,
                          const uint32_t *reads8, const uint32_t *reads8_stride, uint32_t n_reads,
                          uint32_t *k_out, uint32_t *l_out)
{
#if PACKING == 4
    const uint32_t *reads = SEQUENCE_STRIDE ? reads4_stride : reads4;
#else
    const uint32_t *reads = SEQUENCE_STRIDE ? reads8_stride : reads8;
#endif
    uint32_t tasks = n_reads * (STRAND_PAR + 1) * (KL_PAR + 1);
    uint32_t task = blockIdx.x * BLOCK_W + threadIdx.x;
    uint32_t read, strand, end, half;
    uint2 found;
#if CACHE_THREADS
    __shared__ uint2 cache[2 * STARTS];
    uint32_t entry;
    if (threadIdx.x < CACHE_THREADS) {
        for (entry = threadIdx.x; entry < 2 * STARTS; entry += CACHE_THREADS)
            cache[entry] = LOAD(starts + entry);
    }
    __syncthreads();
    starts = cache;
#endif
#if MANY_BLOCKS
    if (task < tasks)
#else
    for (; task < tasks; task += gridDim.x * BLOCK_W)
#endif
    {
        half = task % (KL_PAR + 1);
        read = task / (KL_PAR + 1) % n_reads;
#if STRAND_PAR
        strand = task / (KL_PAR + 1) / n_reads;
        end = strand + 1;
#else
        strand = 0;
        end = 2;
#endif
        for (; strand < end; strand++) {
            const uint32_t *bwt = (strand == 0) ? forward : backward;
            const uint32_t *head = heads + strand * HEAD_WORDS;
            found = search(bwt, head, starts, reads, n_reads, read, strand, half);
            if (half == 0) {
                k_out[strand * n_reads + read] = found.x;
                l_out[strand * n_reads + read] = found.y;
            }
        }
    }
}
