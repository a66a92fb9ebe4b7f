/*
 * Local alignment of pairs of DNA sequences (Smith-Waterman, affine gaps), as it
 * was first brought to the GPU: right before fast.
 *
 * A block aligns one pair. Thread t has column t + 1 of the matrix, a base of the
 * query, and all threads go down the matrix one anti-diagonal after the other.
 * The last diagonals are kept in shared memory; every cell's score and the way
 * that led to it are written to matrices in global memory, as the program for the
 * processor does. sw_trace then follows each alignment back from its end, one
 * thread a pair.
 *
 * Of several best alignments the one counts that ends first in the reference,
 * then first in the query. Going back, a pair of bases is preferred to a gap, a
 * gap in the reference to one in the query, and to open a gap to extend it.
 * Positions count from 0, ends are the last base. Where no base matches the score
 * is 0 and all positions are -1.
 */
#include <stdint.h>

/* threads of a block that follows alignments back */
#ifndef TRACE_BLOCK
#define TRACE_BLOCK 128
#endif

/* 1: the diagonals in shared memory have 16 bits a score, 0: 32 */
#ifndef SHORT_SCORES
#define SHORT_SCORES 0
#endif

/* 1: both sequences are copied into shared memory, 0: they are read where they lie */
#ifndef STAGE_LETTERS
#define STAGE_LETTERS 1
#endif

/* 1: the matrices are laid out diagonal by diagonal, 0: row by row */
#ifndef BY_DIAGONAL
#define BY_DIAGONAL 0
#endif

/* 1: the best score of a warp by shuffles, 0: of all threads by shared memory */
#ifndef SHUFFLE_BEST
#define SHUFFLE_BEST 1
#endif

/* USE_LDG: read the sequences through the read-only data cache */
#ifdef USE_LDG
#define LOAD(address) __ldg(address)
#else
#define LOAD(address) (*(address))
#endif

#define WARP 32
#define MOST_THREADS 512

/* a base that is not known: matches nothing, not even itself */
#define UNKNOWN 4

/* where a cell's score comes from, and whether the two gaps that end in it go on */
#define FROM_NOWHERE 0
#define FROM_PAIR 1
#define FROM_LEFT 2
#define FROM_UP 3
#define FROM 3
#define LEFT_GOES_ON 4
#define UP_GOES_ON 8

#if SHORT_SCORES
typedef int16_t score_t;
#else
typedef int32_t score_t;
#endif

/* where cell (row, column) of a pair lies in its matrices */
static __device__ int place(int row, int column, int most_query)
{
#if BY_DIAGONAL
    return (row + column) * (most_query + 1) + column;
#else
    return row * (most_query + 1) + column;
#endif
}

/* cells that the matrix of a pair has, used or not */
static __device__ int matrix_size(int most_ref, int most_query)
{
#if BY_DIAGONAL
    return (most_ref + most_query + 1) * (most_query + 1);
#else
    return (most_ref + 1) * (most_query + 1);
#endif
}

/* what it gives to pair two bases */
static __device__ int pair_score(int a, int b, int match, int mismatch)
{
    if (a == UNKNOWN || b == UNKNOWN)
        return -mismatch;
    if (a == b)
        return match;
    return -mismatch;
}

/* whether one end of an alignment is to be preferred to another */
static __device__ bool better(int score, int row, int column, int other_score, int other_row,
                              int other_column)
{
    if (score > other_score)
        return true;
    if (score == other_score && row < other_row)
        return true;
    if (score == other_score && row == other_row && column < other_column)
        return true;
    return false;
}

/* scores and ways of all cells; the best score of each pair, and its cell */
__global__ void __launch_bounds__(MOST_THREADS)
sw_fill(const uint8_t *refs, const int *ref_starts, const uint8_t *queries,
        const int *query_starts, int most_ref, int most_query, int match, int mismatch,
        int gap_open, int gap_extend, int *cells, uint8_t *moves, int *score, int *ref_end,
        int *query_end)
{
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ int best_score[MOST_THREADS];
    __shared__ int best_row[MOST_THREADS];
    __shared__ int best_column[MOST_THREADS];

    int pair = blockIdx.x;
    int thread = threadIdx.x;
    int threads = blockDim.x;
    int column = thread + 1;
    int width = threads + 1;

    const uint8_t *ref = refs + ref_starts[pair];
    const uint8_t *query = queries + query_starts[pair];
    int rows = ref_starts[pair + 1] - ref_starts[pair];
    int columns = query_starts[pair + 1] - query_starts[pair];

    /* this pair's matrices */
    int *pair_cells = cells + (size_t)pair * matrix_size(most_ref, most_query);
    uint8_t *pair_moves = moves + (size_t)pair * matrix_size(most_ref, most_query);

    /* three diagonals of best scores, two of scores that end with a gap, by column */
    score_t *h_now = (score_t *)shared;
    score_t *h_last = h_now + width;
    score_t *h_before = h_last + width;
    score_t *e_now = h_before + width;
    score_t *e_last = e_now + width;
    score_t *f_now = e_last + width;
    score_t *f_last = f_now + width;

    /* nothing is aligned so far */
    for (int k = 0; k < width; k++) {
        h_now[k] = 0;
        h_last[k] = 0;
        h_before[k] = 0;
    }
    for (int k = 0; k < width; k++) {
        e_now[k] = 0;
        e_last[k] = 0;
    }
    for (int k = 0; k < width; k++) {
        f_now[k] = 0;
        f_last[k] = 0;
    }
    for (int k = 0; k < threads; k++) {
        best_score[k] = 0;
        best_row[k] = 0;
        best_column[k] = 0;
    }
    __syncthreads();

    /* the edges of the matrix, and no way anywhere */
    for (int k = 0; k <= rows; k++)
        pair_cells[place(k, 0, most_query)] = 0;
    for (int k = 0; k <= columns; k++)
        pair_cells[place(0, k, most_query)] = 0;
    for (int k = thread; k < matrix_size(most_ref, most_query); k += threads)
        pair_moves[k] = FROM_NOWHERE;
    __syncthreads();

#if STAGE_LETTERS
    uint8_t *ref_letters = (uint8_t *)(f_last + width);
    uint8_t *query_letters = ref_letters + most_ref;
    for (int k = thread; k < rows; k += threads)
        ref_letters[k] = LOAD(ref + k);
    if (thread < columns)
        query_letters[thread] = LOAD(query + thread);
    __syncthreads();
#endif

    int best = 0;
    int row_of_best = 0;
    int column_of_best = 0;

    for (int diagonal = 2; diagonal <= rows + columns; diagonal++) {
        int row = diagonal - column;

        if (row >= 1 && row <= rows && column >= 1 && column <= columns) {
#if STAGE_LETTERS
            int a = ref_letters[row - 1];
            int b = query_letters[column - 1];
#else
            int a = LOAD(ref + row - 1);
            int b = LOAD(query + column - 1);
#endif
            int move = FROM_NOWHERE;
            int gaps = 0;

            /* a gap in the reference: from the column to the left */
            int e = h_last[column - 1] - gap_open;
            if (e_last[column - 1] - gap_extend > e) {
                e = e_last[column - 1] - gap_extend;
                gaps = gaps | LEFT_GOES_ON;
            }

            /* a gap in the query: from the row above */
            int f = h_last[column] - gap_open;
            if (f_last[column] - gap_extend > f) {
                f = f_last[column] - gap_extend;
                gaps = gaps | UP_GOES_ON;
            }

            /* the best of all */
            int h = 0;
            int paired = h_before[column - 1] + pair_score(a, b, match, mismatch);
            if (paired > h) {
                h = paired;
                move = FROM_PAIR;
            }
            if (e > h) {
                h = e;
                move = FROM_LEFT;
            }
            if (f > h) {
                h = f;
                move = FROM_UP;
            }

            h_now[column] = h;
            e_now[column] = e;
            f_now[column] = f;
            pair_cells[place(row, column, most_query)] = h;
            pair_moves[place(row, column, most_query)] = move | gaps;

            if (better(h, row, column, best, row_of_best, column_of_best)) {
                if (h > 0) {
                    best = h;
                    row_of_best = row;
                    column_of_best = column;
                }
            }
        }
        __syncthreads();

        /* the last diagonal becomes the one before it */
        if (column <= columns)
            h_before[column] = h_last[column];
        __syncthreads();

        /* and this one the last */
        if (column <= columns) {
            h_last[column] = h_now[column];
            e_last[column] = e_now[column];
            f_last[column] = f_now[column];
        }
        __syncthreads();

        /* room for the next one */
        if (column <= columns) {
            h_now[column] = 0;
            e_now[column] = 0;
            f_now[column] = 0;
        }
        __syncthreads();
    }

#if SHUFFLE_BEST
    /* the best of each warp, in its first lane */
    for (int distance = WARP / 2; distance > 0; distance = distance / 2) {
        int other_best = __shfl_down_sync(0xffffffffu, best, distance);
        int other_row = __shfl_down_sync(0xffffffffu, row_of_best, distance);
        int other_column = __shfl_down_sync(0xffffffffu, column_of_best, distance);
        if (better(other_best, other_row, other_column, best, row_of_best, column_of_best)) {
            best = other_best;
            row_of_best = other_row;
            column_of_best = other_column;
        }
    }
    int candidates = threads / WARP;
    if (thread % WARP == 0) {
        best_score[thread / WARP] = best;
        best_row[thread / WARP] = row_of_best;
        best_column[thread / WARP] = column_of_best;
    }
    __syncthreads();
#else
    int candidates = threads;
    best_score[thread] = best;
    best_row[thread] = row_of_best;
    best_column[thread] = column_of_best;
    __syncthreads();
#endif

    /* the best of all */
    if (thread == 0) {
        for (int k = 0; k < candidates; k++) {
            if (better(best_score[k], best_row[k], best_column[k], best, row_of_best,
                       column_of_best)) {
                best = best_score[k];
                row_of_best = best_row[k];
                column_of_best = best_column[k];
            }
        }
        score[pair] = best;
        ref_end[pair] = row_of_best - 1;
        query_end[pair] = column_of_best - 1;
    }
    __syncthreads();
}

/* where each alignment begins, its columns and how many of them are equal bases */
__global__ void __launch_bounds__(TRACE_BLOCK)
sw_trace(const uint8_t *refs, const int *ref_starts, const uint8_t *queries,
         const int *query_starts, int n_pairs, int most_ref, int most_query, const int *cells,
         const uint8_t *moves, const int *score, const int *ref_end, const int *query_end,
         int *ref_begin, int *query_begin, int *length, int *equal)
{
    int pair = blockIdx.x * TRACE_BLOCK + threadIdx.x;
    if (pair >= n_pairs)
        return;

    const uint8_t *ref = refs + ref_starts[pair];
    const uint8_t *query = queries + query_starts[pair];
    const int *pair_cells = cells + (size_t)pair * matrix_size(most_ref, most_query);
    const uint8_t *pair_moves = moves + (size_t)pair * matrix_size(most_ref, most_query);

    int row = ref_end[pair] + 1;
    int column = query_end[pair] + 1;
    int state = FROM_NOWHERE;
    int steps = 0;
    int same = 0;

    /* in a gap until it was opened, else on to where the score comes from */
    while (row >= 1 && column >= 1) {
        int at = place(row, column, most_query);
        int move = pair_moves[at];
        if (state == FROM_LEFT) {
            if ((move & LEFT_GOES_ON) == 0)
                state = FROM_NOWHERE;
            column = column - 1;
            steps++;
        } else if (state == FROM_UP) {
            if ((move & UP_GOES_ON) == 0)
                state = FROM_NOWHERE;
            row = row - 1;
            steps++;
        } else {
            if (pair_cells[at] == 0)
                break;
            if ((move & FROM) == FROM_PAIR) {
                int a = LOAD(ref + row - 1);
                int b = LOAD(query + column - 1);
                if (a == b && a != UNKNOWN)
                    same++;
                row = row - 1;
                column = column - 1;
                steps++;
            } else {
                state = move & FROM;
            }
        }
    }

    /* the last cell that counted is the one after this one */
    ref_begin[pair] = row;
    query_begin[pair] = column;
    if (score[pair] == 0) {
        ref_begin[pair] = -1;
        query_begin[pair] = -1;
    }
    length[pair] = steps;
    equal[pair] = same;
}
