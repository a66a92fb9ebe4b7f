/*
 * Local alignment of pairs of DNA sequences: Smith-Waterman with affine gaps
 * (Gotoh), the score and where the alignment begins and ends.
 *
 * A block aligns one pair. Each thread has one base of the shorter sequence, a
 * column of the matrix, and goes down the bases of the longer one; thread t is
 * one row behind thread t - 1, so that all threads together are on one
 * anti-diagonal. What a thread needs from its left neighbour comes by a shuffle
 * within a warp and through shared memory from one warp to the next.
 *
 * sw_forward finds the best score and the cell where the alignment ends.
 * sw_reverse aligns what lies before that end, backwards: the cell where it
 * reaches the same score is where the alignment begins.
 *
 * Of several best alignments the one counts that ends first in the reference,
 * then first in the query; of several that end there, the one that begins last
 * in the reference, then last in the query. Positions count from 0, ends are
 * the last base. Where no base matches the score is 0 and all positions are -1.
 */
#include <stdint.h>

/* bits of a score: 16 or 32 */
#ifndef SCORE_BITS
#define SCORE_BITS 16
#endif

/* 1: shared memory for the exchange twice, so that one barrier a step will do */
#ifndef DOUBLE_BUFFER
#define DOUBLE_BUFFER 0
#endif

/* 1: both values for the neighbour in one shuffle, 0: a shuffle for each */
#ifndef PACK_EXCHANGE
#define PACK_EXCHANGE 0
#endif

/* 1: the lanes at work vote, 0: every lane works out which they are */
#ifndef LANES_BY_BALLOT
#define LANES_BY_BALLOT 1
#endif

/* 1: the longer sequence is copied into shared memory, 0: it is read where it lies */
#ifndef CACHE_LONGER
#define CACHE_LONGER 1
#endif

/* blocks that a multiprocessor is to hold at least */
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

/* USE_LDG: read the sequences through the read-only data cache */
#ifdef USE_LDG
#define LOAD(address) __ldg(address)
#else
#define LOAD(address) (*(address))
#endif

#define MOST_THREADS 512
#define WARP 32
#define ALL_LANES 0xffffffffu
#define BUFFERS (DOUBLE_BUFFER + 1)

/* a base that is not known: matches nothing, not even itself */
#define UNKNOWN 4

#if SCORE_BITS == 16
typedef int16_t score_t;
#else
typedef int32_t score_t;
#endif

/* a gap of n bases costs open + (n - 1) * extend; all four are positive */
struct Scoring {
    int match, mismatch, open, extend;
};

/* two sequences; base i is at ref[i * step], so step -1 reads them backwards */
struct Pair {
    const uint8_t *ref, *query;
    int refSize, querySize, step;
};

/* a score and its cell, counted from 1; all 0 where nothing matches */
struct Cell {
    int score, ref, query;
};

static __device__ int substitution(int a, int b, Scoring scoring)
{
    if (a == b && a != UNKNOWN)
        return scoring.match;
    return -scoring.mismatch;
}

/* whether a is to be preferred to b */
static __device__ bool better(Cell a, Cell b)
{
    if (a.score != b.score)
        return a.score > b.score;
    if (a.ref != b.ref)
        return a.ref < b.ref;
    return a.query < b.query;
}

/* the best of a warp's cells, in its lane 0 */
static __device__ Cell warp_best(Cell mine)
{
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        Cell other;
        other.score = __shfl_down_sync(ALL_LANES, mine.score, distance);
        other.ref = __shfl_down_sync(ALL_LANES, mine.ref, distance);
        other.query = __shfl_down_sync(ALL_LANES, mine.query, distance);
        if (better(other, mine))
            mine = other;
    }
    return mine;
}

/* the best of a block's cells, in its thread 0 */
static __device__ Cell block_best(Cell mine)
{
    __shared__ Cell of_warp[WARP];
    int laneId = threadIdx.x % WARP;
    int warpId = threadIdx.x / WARP;
    mine = warp_best(mine);
    if (laneId == 0)
        of_warp[warpId] = mine;
    __syncthreads();
    if (warpId == 0) {
        mine.score = 0;
        mine.ref = 0;
        mine.query = 0;
        if (laneId < blockDim.x / WARP)
            mine = of_warp[laneId];
        mine = warp_best(mine);
    }
    return mine;
}

#if !LANES_BY_BALLOT
/* bits first to last of a warp's 32, those of them that there are */
static __device__ unsigned lanes_between(int first, int last)
{
    if (first < 0)
        first = 0;
    if (last > WARP - 1)
        last = WARP - 1;
    if (first > last)
        return 0;
    return (ALL_LANES << first) & (ALL_LANES >> (WARP - 1 - last));
}
#endif

/* what the lane before this one has for its neighbour */
static __device__ void from_left_lane(unsigned lanes, score_t h, score_t e, score_t *left_h,
                                      score_t *left_e)
{
#if PACK_EXCHANGE
    uint32_t both = ((uint32_t)(uint16_t)h << 16) | (uint16_t)e;
    both = __shfl_up_sync(lanes, both, 1);
    *left_h = (score_t)(both >> 16);
    *left_e = (score_t)(both & 0xffff);
#else
    *left_h = __shfl_up_sync(lanes, (int)h, 1);
    *left_e = __shfl_up_sync(lanes, (int)e, 1);
#endif
}

/*
 * Which threads are at work in which step: thread 0 first, each one step after the
 * one before it, each for as many steps as the longer sequence has bases. Every
 * step reads the same flags, from one further left.
 */
static __device__ void fill_window(uint8_t *window, int minSize, int maxSize)
{
    int flags = minSize + maxSize - 1 + blockDim.x;
    for (int k = threadIdx.x; k < flags; k += blockDim.x)
        window[k] = k >= minSize - 1 && k < minSize + maxSize - 1;
}

/* the best cell of a pair's matrix, in thread 0 */
static __device__ Cell best_cell(Pair pair, Scoring scoring)
{
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    int thread_Id = threadIdx.x;
    int laneId = threadIdx.x % WARP;
    int warpId = threadIdx.x / WARP;

    bool alongQuery = pair.querySize <= pair.refSize;
    const uint8_t *shorter = alongQuery ? pair.query : pair.ref;
    const uint8_t *longer = alongQuery ? pair.ref : pair.query;
    int minSize = alongQuery ? pair.querySize : pair.refSize;
    int maxSize = alongQuery ? pair.refSize : pair.querySize;

    /* by the last lane of each warp for the next warp, and by threads that are done */
    score_t *edge_h = (score_t *)dynamic_shared;
    score_t *edge_e = edge_h + BUFFERS * WARP;
    score_t *spill_h = edge_e + BUFFERS * WARP;
    score_t *spill_e = spill_h + BUFFERS * blockDim.x;
    uint8_t *window = (uint8_t *)(spill_e + BUFFERS * blockDim.x);
    const uint8_t *is_valid = window + minSize + maxSize - 1;
    int letter = UNKNOWN;

    fill_window(window, minSize, maxSize);
#if CACHE_LONGER
    uint8_t *copy = window + minSize + maxSize - 1 + blockDim.x;
    for (int k = thread_Id; k < maxSize; k += blockDim.x)
        copy[k] = LOAD(longer + k * pair.step);
#endif
    if (thread_Id < minSize)
        letter = LOAD(shorter + thread_Id * pair.step);
    __syncthreads();

    score_t h = 0, e = 0, f = 0;           /* of this column, in the row last done */
    score_t left_h = 0, left_e = 0;        /* of the column to the left, in this row */
    score_t diagonal_h = 0;                /* of the column to the left, in the row before */
    int i = 0;
    int j = thread_Id + 1;
    int thread_max = 0, thread_max_i = 0, thread_max_j = 0;
    unsigned lanes = ALL_LANES;            /* of this warp, that are at work */

    for (int diag = 0; diag < minSize + maxSize - 1; diag++) {
#if DOUBLE_BUFFER
        int edges = diag % 2 * WARP;
        int spills = diag % 2 * blockDim.x;
#else
        const int edges = 0;
        const int spills = 0;
#endif
        if (laneId == 31) {
            edge_h[edges + warpId] = h;
            edge_e[edges + warpId] = e;
        }
        if (diag >= maxSize) {
            spill_h[spills + thread_Id] = h;
            spill_e[spills + thread_Id] = e;
        }
        is_valid--;
        __syncthreads();
#if LANES_BY_BALLOT
        lanes = __ballot_sync(ALL_LANES, is_valid[thread_Id] && thread_Id < minSize);
#else
        lanes = lanes_between(diag - maxSize + 1 - warpId * WARP, min(diag, minSize - 1) - warpId * WARP);
#endif
        if (is_valid[thread_Id] && thread_Id < minSize) {
            if (diag >= maxSize) {
                /* the left neighbour may be done: it shuffles no more */
                if (thread_Id > 0) {
                    left_h = spill_h[spills + thread_Id - 1];
                    left_e = spill_e[spills + thread_Id - 1];
                }
            } else {
                from_left_lane(lanes, h, e, &left_h, &left_e);
                if (laneId == 0 && warpId > 0) {
                    left_h = edge_h[edges + warpId - 1];
                    left_e = edge_e[edges + warpId - 1];
                }
            }
            if (thread_Id == 0) {
                left_h = 0;
                left_e = 0;
            }
#if CACHE_LONGER
            int other = copy[i];
#else
            int other = LOAD(longer + i * pair.step);
#endif
            i++;
            e = max(left_e - scoring.extend, left_h - scoring.open);
            f = max(f - scoring.extend, h - scoring.open);
            h = max(diagonal_h + substitution(letter, other, scoring), 0);
            h = max(h, max(e, f));
            diagonal_h = left_h;
            if (h > thread_max) {
                thread_max = h;
                thread_max_i = i;
                thread_max_j = j;
            }
        }
#if !DOUBLE_BUFFER
        __syncthreads();
#endif
    }

    Cell mine;
    mine.score = thread_max;
    mine.ref = alongQuery ? thread_max_i : thread_max_j;
    mine.query = alongQuery ? thread_max_j : thread_max_i;
    return block_best(mine);
}

/* score and end of each pair's alignment */
__global__ void __launch_bounds__(MOST_THREADS, MIN_BLOCKS)
sw_forward(const uint8_t *refs, const int *ref_starts, const uint8_t *queries,
           const int *query_starts, int match, int mismatch, int gap_open, int gap_extend,
           int *score, int *ref_end, int *query_end)
{
    int block = blockIdx.x;
    Scoring scoring = {match, mismatch, gap_open, gap_extend};
    Pair pair;
    pair.ref = refs + ref_starts[block];
    pair.query = queries + query_starts[block];
    pair.refSize = ref_starts[block + 1] - ref_starts[block];
    pair.querySize = query_starts[block + 1] - query_starts[block];
    pair.step = 1;
    Cell best = best_cell(pair, scoring);
    if (threadIdx.x == 0) {
        score[block] = best.score;
        ref_end[block] = best.ref - 1;
        query_end[block] = best.query - 1;
    }
}

/* begin of each pair's alignment, from its end */
__global__ void __launch_bounds__(MOST_THREADS, MIN_BLOCKS)
sw_reverse(const uint8_t *refs, const int *ref_starts, const uint8_t *queries,
           const int *query_starts, int match, int mismatch, int gap_open, int gap_extend,
           const int *ref_end, const int *query_end, int *ref_begin, int *query_begin)
{
    int block = blockIdx.x;
    int lastRef = ref_end[block];
    int lastQuery = query_end[block];
    Scoring scoring = {match, mismatch, gap_open, gap_extend};
    Pair pair;
    if (lastRef < 0) {
        if (threadIdx.x == 0) {
            ref_begin[block] = -1;
            query_begin[block] = -1;
        }
        return;
    }
    pair.ref = refs + ref_starts[block] + lastRef;
    pair.query = queries + query_starts[block] + lastQuery;
    pair.refSize = lastRef + 1;
    pair.querySize = lastQuery + 1;
    pair.step = -1;
    Cell best = best_cell(pair, scoring);
    if (threadIdx.x == 0) {
        ref_begin[block] = lastRef + 1 - best.ref;
        query_begin[block] = lastQuery + 1 - best.query;
    }
}
