/*
 * An infection spreads through a tissue, and T cells hunt it down.
 *
 * The tissue is a grid of epithelial cells, width by height. Infected cells
 * release virions and an inflammatory signal; both diffuse and decay. Virions
 * infect healthy cells, the signal lets T cells into the tissue, and a T cell
 * that meets an expressing cell binds to it and makes it die. A cell has room
 * for one T cell at a time: who is first gets it.
 *
 * One step of time: diffuse, update_cells, extravasate, move_t_cells,
 * count_totals; then the fields and their successors change places. begin comes
 * before the first step.
 */
#include <stdint.h>

/* threads of a block, across and down, where a thread is a cell of the tissue */
#ifndef BLOCK_X
#define BLOCK_X 16
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 16
#endif

/* rows of cells for each thread */
#ifndef ROWS
#define ROWS 1
#endif

/* threads of a block where a thread is a T cell */
#ifndef AGENT_BLOCK
#define AGENT_BLOCK 128
#endif

/* 1: the fields are read through a tile in shared memory */
#ifndef TILE
#define TILE 0
#endif

/* 1: a block spreads virions and signal, 0: one of them */
#ifndef FUSED
#define FUSED 0
#endif

/* totals of a block: 0 by atomics in shared memory, 1 by a tree, 2 by warp shuffles */
#ifndef REDUCE
#define REDUCE 0
#endif

/* 1: a warp adds its T cells' events to the totals in one go */
#ifndef WARP_EVENTS
#define WARP_EVENTS 0
#endif

/* USE_LDG: read what a kernel never writes through the read-only data cache */
#ifdef USE_LDG
#define LOAD(address) __ldg(address)
#else
#define LOAD(address) (*(address))
#endif

#define THREADS (BLOCK_X * BLOCK_Y)
#define BLOCK_ROWS (BLOCK_Y * ROWS)
#define TILE_W (BLOCK_X + 2)
#define TILE_H (BLOCK_ROWS + 2)
#define ALL_LANES 0xffffffffu

/* partial sums of each total in a block */
#if REDUCE == 0
#define SLOTS 1
#elif REDUCE == 1
#define SLOTS THREADS
#else
#define SLOTS (THREADS / 32)
#endif

/* states of an epithelial cell */
#define HEALTHY 0
#define INCUBATING 1
#define EXPRESSING 2
#define APOPTOTIC 3
#define DEAD 4

/* totals of a step: cells in each state, these at its end, and T cells' events during it */
#define T_CELLS 5
#define VIRIONS 6
#define SIGNAL 7
#define LEVELS 8
#define ARRIVED 8
#define EXPIRED 9
#define BINDINGS 10
#define TOTALS 11

/* what an expressing or apoptotic cell releases in a step */
#define VIRION_RELEASE 1.0f
#define SIGNAL_RELEASE 0.25f

/* the chance that a T cell binds to an expressing cell it meets */
#define BINDING_CHANCE 0.75f

#define NOWHERE (-1)

/* blocks that were given seeds since the module was loaded: no two runs are alike */
static __device__ unsigned int tickets;

/* a number that has nothing in common with its neighbours */
static __device__ uint32_t scramble(uint32_t word)
{
    word ^= word >> 16;
    word *= 0x85ebca6bu;
    word ^= word >> 13;
    word *= 0xc2b2ae35u;
    word ^= word >> 16;
    return word;
}

/* the next random word */
static __device__ uint32_t draw(uint32_t *random)
{
    uint32_t word = *random;
    word ^= word << 13;
    word ^= word >> 17;
    word ^= word << 5;
    *random = word;
    return word;
}

/* true with the given chance */
static __device__ bool happens(uint32_t *random, float chance)
{
    return (draw(random) >> 8) * (1.0f / 16777216.0f) < chance;
}

/* steps until something ends: from mean / 2 to mean * 3 / 2 */
static __device__ int draw_period(uint32_t *random, int mean)
{
    return (mean + 1) / 2 + (int)(draw(random) % (uint32_t)(mean + 1));
}

/* the cell next to a cell in one of 9 directions, of which 4 is the cell itself */
static __device__ int neighbour(int cell, int direction, int width, int height)
{
    int x = cell % width + direction % 3 - 1;
    int y = cell / width + direction / 3 - 1;
    if (x < 0 || x >= width || y < 0 || y >= height)
        return NOWHERE;
    return y * width + x;
}

/* count an event of a T cell; every thread of the warp comes here */
static __device__ void tally(double *total, bool event)
{
#if WARP_EVENTS
    unsigned int events = __ballot_sync(ALL_LANES, event);
    if (threadIdx.x % 32 == 0 && events != 0)
        atomicAdd(total, (double)__popc(events));
#else
    if (event)
        atomicAdd(total, 1.0);
#endif
}

#if TILE
/* copy the block's part of a field, with a margin of one cell; the edge repeats itself */
static __device__ void load_tile(const float *field, float *tile, int width, int height)
{
    int left = blockIdx.x * BLOCK_X - 1;
    int top = blockIdx.y * BLOCK_ROWS - 1;
    int i;
    for (i = threadIdx.y * BLOCK_X + threadIdx.x; i < TILE_W * TILE_H; i += THREADS) {
        int x = min(max(left + i % TILE_W, 0), width - 1);
        int y = min(max(top + i / TILE_W, 0), height - 1);
        tile[i] = LOAD(field + y * width + x);
    }
    __syncthreads();
}
#endif

/* one step of diffusion and decay: what flows out of a cell flows into its neighbours */
static __device__ void spread(const float *field, float *next, float *tile, int width, int height,
                              float diffusion, float decay)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int row, y, i;
    float here, flow;
#if TILE
    load_tile(field, tile, width, height);
#endif
    for (row = 0; row < ROWS; row++) {
        y = blockIdx.y * BLOCK_ROWS + row * BLOCK_Y + threadIdx.y;
        if (x >= width || y >= height)
            continue;
        i = y * width + x;
        flow = 0.0f;
#if TILE
        int at = (row * BLOCK_Y + threadIdx.y + 1) * TILE_W + threadIdx.x + 1;
        here = tile[at];
        flow += tile[at - 1] - here;
        flow += tile[at + 1] - here;
        flow += tile[at - TILE_W] - here;
        flow += tile[at + TILE_W] - here;
#else
        here = LOAD(field + i);
        if (x > 0)
            flow += LOAD(field + i - 1) - here;
        if (x < width - 1)
            flow += LOAD(field + i + 1) - here;
        if (y > 0)
            flow += LOAD(field + i - width) - here;
        if (y < height - 1)
            flow += LOAD(field + i + width) - here;
#endif
        next[i] = (here + 0.25f * diffusion * flow) * (1.0f - decay);
    }
}

/* healthy cells, no T cells, totals of zero, and seeds for all that is random */
__global__ void begin(int *state, int *timer, int *occupant, uint32_t *random, int *agent_cell,
                      int *agent_from, int *agent_life, int *agent_bound, uint32_t *agent_random,
                      double *totals, int n_cells, int n_agents, int n_steps, uint32_t seed)
{
    __shared__ unsigned int ticket;
    int i = blockIdx.x * AGENT_BLOCK + threadIdx.x;
    uint32_t word;
    if (threadIdx.x == 0)
        ticket = atomicAdd(&tickets, 1u);
    __syncthreads();
    word = scramble(scramble(seed + ticket) ^ scramble(i));
    if (i < n_cells) {
        state[i] = HEALTHY;
        timer[i] = 0;
        occupant[i] = 0;
        random[i] = (word == 0) ? 1 : word;
    }
    if (i < n_agents) {
        agent_cell[i] = NOWHERE;
        agent_from[i] = NOWHERE;
        agent_life[i] = 0;
        agent_bound[i] = 0;
        word = scramble(word + 1);
        agent_random[i] = (word == 0) ? 1 : word;
    }
    if (i < n_steps * TOTALS)
        totals[i] = 0.0;
}

/* virions and signal diffuse and decay */
__global__ void diffuse(const float *virions, float *virions_next, const float *signal,
                        float *signal_next, int width, int height, float virion_diffusion,
                        float virion_decay, float signal_diffusion, float signal_decay)
{
#if TILE
    __shared__ float tile[TILE_W * TILE_H];
#else
    float *tile = 0;
#endif
#if FUSED
    spread(virions, virions_next, tile, width, height, virion_diffusion, virion_decay);
#if TILE
    __syncthreads();
#endif
    spread(signal, signal_next, tile, width, height, signal_diffusion, signal_decay);
#else
    if (blockIdx.z == 0)
        spread(virions, virions_next, tile, width, height, virion_diffusion, virion_decay);
    else
        spread(signal, signal_next, tile, width, height, signal_diffusion, signal_decay);
#endif
}

/* every cell lives through one step, and releases virions and signal if it is infected enough */
__global__ void update_cells(int *state, int *timer, uint32_t *random, float *virions,
                             float *signal, const float *susceptibility, int width, int height,
                             float infectivity, int incubation, int expression)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int row, y, i, now;
    uint32_t mine;
    float chance;
    for (row = 0; row < ROWS; row++) {
        y = blockIdx.y * BLOCK_ROWS + row * BLOCK_Y + threadIdx.y;
        if (x >= width || y >= height)
            continue;
        i = y * width + x;
        now = state[i];
        mine = random[i];
        if (now == HEALTHY) {
            chance = infectivity * virions[i] * LOAD(susceptibility + i);
            if (chance > 0.0f && happens(&mine, chance)) {
                now = INCUBATING;
                timer[i] = draw_period(&mine, incubation);
            }
        } else if (now != DEAD) {
            timer[i]--;
            if (timer[i] <= 0) {
                if (now == INCUBATING) {
                    now = EXPRESSING;
                    timer[i] = draw_period(&mine, expression);
                } else {
                    now = DEAD;
                }
            }
        }
        if (now == EXPRESSING || now == APOPTOTIC) {
            virions[i] += VIRION_RELEASE;
            signal[i] += SIGNAL_RELEASE;
        }
        state[i] = now;
        random[i] = mine;
    }
}

/* T cells that are not in the tissue may enter where there is signal and room */
__global__ void extravasate(int *occupant, const float *signal, int *agent_cell, int *agent_life,
                            int *agent_bound, uint32_t *agent_random, double *totals, int step,
                            int n_cells, int n_agents, float arrival, int lifetime)
{
    int agent = blockIdx.x * AGENT_BLOCK + threadIdx.x;
    bool arrived = false;
    uint32_t mine;
    int cell;
    if (agent < n_agents && agent_cell[agent] == NOWHERE) {
        mine = agent_random[agent];
        cell = draw(&mine) % (uint32_t)n_cells;
        if (happens(&mine, arrival * LOAD(signal + cell))) {
            if (atomicCAS(&occupant[cell], 0, agent + 1) == 0) {
                arrived = true;
                agent_cell[agent] = cell;
                agent_life[agent] = draw_period(&mine, lifetime);
                agent_bound[agent] = 0;
            }
        }
        agent_random[agent] = mine;
    }
    tally(&totals[step * TOTALS + ARRIVED], arrived);
}

/* bind to an expressing cell nearby, if the T cell meets one */
static __device__ bool bind_nearby(volatile int *state, int *timer, int cell, uint32_t *random,
                            int width, int height, int apoptosis)
{
    int first = draw(random) % 9;
    int i, target;
    for (i = 0; i < 9; i++) {
        target = neighbour(cell, (first + i) % 9, width, height);
        if (target == NOWHERE || state[target] != EXPRESSING)
            continue;
        if (!happens(random, BINDING_CHANCE))
            return false;
        if (atomicCAS((int *)&state[target], EXPRESSING, APOPTOTIC) == EXPRESSING) {
            timer[target] = apoptosis;
            return true;
        }
    }
    return false;
}

/* T cells age, stay while they are bound, bind, or move to a cell that has room */
__global__ void move_t_cells(int *state, int *timer, int *occupant, int *agent_cell,
                             int *agent_from, int *agent_life, int *agent_bound,
                             uint32_t *agent_random, double *totals, int step, int width,
                             int height, int n_agents, int apoptosis, int binding)
{
    int agent = blockIdx.x * AGENT_BLOCK + threadIdx.x;
    bool expired = false, bound = false;
    uint32_t mine;
    int cell, to;
    if (agent < n_agents && agent_cell[agent] != NOWHERE) {
        cell = agent_cell[agent];
        mine = agent_random[agent];
        agent_from[agent] = cell;
        agent_life[agent]--;
        if (agent_life[agent] <= 0) {
            expired = true;
            agent_cell[agent] = NOWHERE;
            atomicExch(&occupant[cell], 0);
        } else if (agent_bound[agent] > 1) {
            agent_bound[agent]--;
        } else if (bind_nearby(state, timer, cell, &mine, width, height, apoptosis)) {
            bound = true;
            agent_bound[agent] = binding;
        } else {
            agent_bound[agent] = 0;
            to = neighbour(cell, draw(&mine) % 9, width, height);
            if (to != NOWHERE && atomicCAS(&occupant[to], 0, agent + 1) == 0) {
                agent_cell[agent] = to;
                atomicExch(&occupant[cell], 0);
            }
        }
        agent_random[agent] = mine;
    }
    tally(&totals[step * TOTALS + EXPIRED], expired);
    tally(&totals[step * TOTALS + BINDINGS], bound);
}

/* cells in each state, T cells, virions and signal at the end of the step */
__global__ void count_totals(const int *state, const int *occupant, const float *virions,
                             const float *signal, double *totals, int step, int width, int height)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int thread = threadIdx.y * BLOCK_X + threadIdx.x;
    double mine[LEVELS] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    int row, y, i, q;
    __shared__ double sums[LEVELS * SLOTS];
    for (row = 0; row < ROWS; row++) {
        y = blockIdx.y * BLOCK_ROWS + row * BLOCK_Y + threadIdx.y;
        if (x >= width || y >= height)
            continue;
        i = y * width + x;
        mine[LOAD(state + i)] += 1.0;
        if (LOAD(occupant + i) != 0)
            mine[T_CELLS] += 1.0;
        mine[VIRIONS] += LOAD(virions + i);
        mine[SIGNAL] += LOAD(signal + i);
    }
#if REDUCE == 0
    for (q = thread; q < LEVELS; q += THREADS)
        sums[q] = 0.0;
    __syncthreads();
    for (q = 0; q < LEVELS; q++) {
        if (mine[q] != 0.0)
            atomicAdd(&sums[q], mine[q]);
    }
    __syncthreads();
#elif REDUCE == 1
    for (q = 0; q < LEVELS; q++)
        sums[q * SLOTS + thread] = mine[q];
    __syncthreads();
    for (i = THREADS / 2; i > 0; i /= 2) {
        if (thread < i) {
            for (q = 0; q < LEVELS; q++)
                sums[q * SLOTS + thread] += sums[q * SLOTS + thread + i];
        }
        __syncthreads();
    }
#else
    for (q = 0; q < LEVELS; q++) {
        for (i = 16; i > 0; i /= 2)
            mine[q] += __shfl_down_sync(ALL_LANES, mine[q], i);
        if (thread % 32 == 0)
            sums[q * SLOTS + thread / 32] = mine[q];
    }
    __syncthreads();
    if (thread < LEVELS) {
        for (i = 1; i < SLOTS; i++)
            sums[thread * SLOTS] += sums[thread * SLOTS + i];
    }
    __syncthreads();
#endif
    if (thread < LEVELS)
        atomicAdd(&totals[step * TOTALS + thread], sums[thread * SLOTS]);
}
