/*
 * A tumour grows in a tissue.
 *
 * The tissue is a grid of sites, width by height, each empty or taken by one cell:
 * stroma, tumour, stem cells of the tumour, immune cells, dead cells, vessels. Four
 * media flow through it: oxygen, glucose, acid and a signal. Cells live on oxygen
 * and glucose, which vessels bring; tumour cells divide while there is enough,
 * hunger when there is not, and then call for vessels by the signal, which immune
 * cells follow too.
 *
 * One step of time is seven kernels:
 *
 *   diffuse    media flow to the sites around and fade
 *   exchange   cells eat, release acid and signal, gain and lose energy
 *   border     media seep in and out at the edge of the tissue
 *   regulate   cells age, die, decide to rest, to move or to divide
 *   choose     who moves or divides picks an empty site beside it
 *   settle     of all who picked a site one gets it; vessels sprout, immune cells kill
 *   census     what there is in the tissue now
 *
 * then old and new change places. Random numbers are a function of the seed, the
 * step and the site, and who gets a site is decided by lot, not by who comes first:
 * all runs are alike, to the bit.
 */
#include <stdint.h>

/* ---- configuration ----------------------------------------------------------- */

/* threads of a block, across and down, where a thread has a site */
#ifndef BLOCK_X
#define BLOCK_X 32
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8
#endif

/* rows of sites for each thread */
#ifndef ROWS
#define ROWS 1
#endif

/* threads of a block along the edge of the tissue */
#ifndef EDGE_BLOCK
#define EDGE_BLOCK 128
#endif

/* 1: media and openness are read through tiles in shared memory */
#ifndef TILE
#define TILE 0
#endif

/* 1: a block spreads all media one after the other, 0: one of them */
#ifndef FUSED
#define FUSED 0
#endif

/* 1: what sorts of cells are like is copied to shared memory, 0: it is constant memory */
#ifndef SHARED_TRAITS
#define SHARED_TRAITS 0
#endif

/* 1: who picked a site is looked for only where a site beside it is taken */
#ifndef LOOK_FIRST
#define LOOK_FIRST 0
#endif

/* numbers of a block: 0 by atomics in shared memory, 1 by a tree, 2 by warp shuffles */
#ifndef REDUCE
#define REDUCE 1
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
#define WARP 32

/* partial numbers of each kind in a block */
#if REDUCE == 0
#define SLOTS 1
#elif REDUCE == 1
#define SLOTS THREADS
#else
#define SLOTS (THREADS / WARP)
#endif

/* ---- what there is ----------------------------------------------------------- */

/* kinds of cells */
#define EMPTY 0
#define STROMA 1
#define TUMOUR 2
#define STEM 3
#define IMMUNE 4
#define DEAD 5
#define VESSEL 6
#define KINDS 7

/* media */
#define OXYGEN 0
#define GLUCOSE 1
#define ACID 2
#define SIGNAL 3
#define MEDIA 4

/* what a cell wants to do in this step */
#define STAY 0
#define MOVE 1
#define DIVIDE 2

#define NOWHERE (-1)
#define AROUND 8

/* what random numbers are drawn for: no two uses in a step have the same */
#define FOR_WISH 1
#define FOR_RANK 2
#define FOR_NOISE 3
#define FOR_CHILD 4
#define FOR_CLOCK 5
#define FOR_SPROUT 6
#define FOR_ARRIVAL 7
#define FOR_KILL 8

/* numbers of a step: cells of each kind, energy, media, events, the longest clock */
#define ENERGY_SUM 7
#define MEDIA_SUM 8
#define SUMS 12
#define DIVISIONS 12
#define MOVES 13
#define KILLS 14
#define LONGEST 15
#define TOTALS 16

/* events that settle counts */
#define EVENTS 3

/* cells of each level of energy */
#define LEVELS 16

/* sums of fractions are counted in parts of 4096, so that order does not matter */
#define FINE 4096.0f

/* what a flow to a site beside takes, and to one across the corner; 1 in all */
#define STRAIGHT 0.16666667f
#define ACROSS 0.083333336f

/* amounts at which a cell takes up half of what it can */
#define HALF_OXYGEN 0.25f
#define HALF_GLUCOSE 0.5f

/* of glucose: what is burnt with one part of oxygen, what energy and acid it gives */
#define GLUCOSE_PER_OXYGEN 0.5f
#define ENERGY_BURNT 12.0f
#define ENERGY_FERMENTED 2.0f
#define ACID_FERMENTED 0.75f

/* more acid than this does harm */
#define ACID_TOLERATED 0.05f

/* less oxygen than this and a cell of the tumour calls and wanders */
#define HYPOXIC 0.15f

/* how much energy a cell can hold */
#define MOST_ENERGY 4.0f

/* what blood brings, and how fast */
#define BLOOD_OXYGEN 1.0f
#define BLOOD_GLUCOSE 1.5f
#define PERFUSION 0.5f

/* how much the edge of the tissue follows what is inside it */
#define EDGE_MIX 0.125f

/* what chance has in the choice of a site */
#define NOISE 0.25f

/* a medium: how it flows, fades, and seeps in from outside */
struct Medium {
    float diffusion, decay, outside, seep;
};

/* what cells of one kind are like */
struct Trait {
    float oxygen_uptake, glucose_uptake, signal_release, upkeep;
    float acid_harm, to_oxygen, to_signal, adhesion;
};

/* chances a step, and energies, that decide what cells do */
struct Rules {
    float division_energy, rest_energy, turnover, motility;
    float patrol, mutation, renewal, sprouting;
    float sprout_signal, arrival, arrival_signal, killing;
};

/* a site of the tissue */
struct Site {
    int x, y, i;
};

/* a cell; all 0 where there is none */
struct Cell {
    int kind, clock;
    float energy;
    uint32_t clone;
};

/* what a cell takes in and gives off in a step */
struct Meal {
    float oxygen, glucose, acid, energy;
};

/* a site to go to, and how good it is */
struct Choice {
    float score;
    int goal;
};

/* what sorts of cells are like, the same for all steps */
__constant__ Trait traits[KINDS];

/* ---- numbers ----------------------------------------------------------------- */

/* a number that has nothing in common with its neighbours */
static __device__ uint32_t scramble(uint32_t word)
{
    word ^= word >> 16;
    word *= 0x7feb352du;
    word ^= word >> 15;
    word *= 0x846ca68bu;
    word ^= word >> 16;
    return word;
}

/* the random word of a site, for one use in one step */
static __device__ uint32_t draw(uint32_t seed, int step, int site, int use)
{
    uint32_t word = scramble(seed + 0x9e3779b9u * (uint32_t)(step + 1));
    word = scramble(word ^ (uint32_t)site);
    return scramble(word + (uint32_t)use);
}

/* from 0 to below 1 */
static __device__ float fraction(uint32_t word)
{
    return (float)(word >> 8) * (1.0f / 16777216.0f);
}

/* true with the given chance */
static __device__ bool happens(uint32_t word, float chance)
{
    return fraction(word) < chance;
}

/* from mean / 2 to mean * 3 / 2 steps */
static __device__ int period(uint32_t word, int mean)
{
    return (mean + 1) / 2 + (int)(word % (uint32_t)(mean + 1));
}

static __device__ float clamp(float value, float least, float most)
{
    return fminf(fmaxf(value, least), most);
}

/* an amount in whole parts */
static __device__ unsigned long long parts(float amount)
{
    return (unsigned long long)(amount * FINE + 0.5f);
}

/* ---- places ------------------------------------------------------------------ */

/* the site that a thread has in one of its rows */
static __device__ Site site_of(int row, int width)
{
    Site site;
    site.x = blockIdx.x * BLOCK_X + threadIdx.x;
    site.y = blockIdx.y * BLOCK_ROWS + row * BLOCK_Y + threadIdx.y;
    site.i = site.y * width + site.x;
    return site;
}

static __device__ bool inside(Site site, int width, int height)
{
    return site.x >= 0 && site.x < width && site.y >= 0 && site.y < height;
}

/* the column of one of the eight sites around: west, east, north, south, then corners */
static __device__ int step_x(int direction)
{
    switch (direction) {
    case 0:
    case 4:
    case 6:
        return -1;
    case 1:
    case 5:
    case 7:
        return 1;
    default:
        return 0;
    }
}

/* and its row */
static __device__ int step_y(int direction)
{
    switch (direction) {
    case 2:
    case 4:
    case 5:
        return -1;
    case 3:
    case 6:
    case 7:
        return 1;
    default:
        return 0;
    }
}

/* the site beside a site; it may lie outside */
static __device__ Site beside(Site site, int direction, int width)
{
    Site next;
    next.x = site.x + step_x(direction);
    next.y = site.y + step_y(direction);
    next.i = next.y * width + next.x;
    return next;
}

/* how many of the eight sites around have a cell of a kind */
static __device__ int count_around(const int *kind, Site site, int wanted, int width, int height)
{
    int count = 0;
    for (int direction = 0; direction < AROUND; direction++) {
        Site next = beside(site, direction, width);
        if (inside(next, width, height) && kind[next.i] == wanted)
            count++;
    }
    return count;
}

static __device__ bool of_tumour(int kind)
{
    return kind == TUMOUR || kind == STEM;
}

static __device__ bool alive(int kind)
{
    return kind == STROMA || kind == IMMUNE || of_tumour(kind);
}

/* ---- diffuse ----------------------------------------------------------------- */

#if TILE
/* copy the block's part of a plane, with a margin of one site; the edge repeats itself */
static __device__ void load_tile(const float *plane, float *tile, int width, int height)
{
    int left = blockIdx.x * BLOCK_X - 1;
    int top = blockIdx.y * BLOCK_ROWS - 1;
    int thread = threadIdx.y * BLOCK_X + threadIdx.x;
    for (int k = thread; k < TILE_W * TILE_H; k += THREADS) {
        int x = min(max(left + k % TILE_W, 0), width - 1);
        int y = min(max(top + k / TILE_W, 0), height - 1);
        tile[k] = LOAD(plane + y * width + x);
    }
}
#endif

/* what flows from one place to another: the tissue between lets through what both do */
static __device__ float flow(float here, float there, float open_here, float open_there,
                             float share)
{
    float through = share * (0.5f * (open_here + open_there));
    return through * (there - here);
}

#if TILE
/* all that flows to a place of a tile; from beyond the edge comes nothing */
static __device__ float inflow(const float *tile, const float *open, int at)
{
    float here = tile[at];
    float open_here = open[at];
    float sum = 0.0f;
    sum += flow(here, tile[at - 1], open_here, open[at - 1], STRAIGHT);
    sum += flow(here, tile[at + 1], open_here, open[at + 1], STRAIGHT);
    sum += flow(here, tile[at - TILE_W], open_here, open[at - TILE_W], STRAIGHT);
    sum += flow(here, tile[at + TILE_W], open_here, open[at + TILE_W], STRAIGHT);
    return sum;
}

/* and across the corners that lie in the tissue */
static __device__ float inflow_across(const float *tile, const float *open, int at, Site site,
                                      int width, int height)
{
    float here = tile[at];
    float open_here = open[at];
    float sum = 0.0f;
    for (int direction = 4; direction < AROUND; direction++) {
        Site next = beside(site, direction, width);
        int other = at + step_y(direction) * TILE_W + step_x(direction);
        if (inside(next, width, height))
            sum += flow(here, tile[other], open_here, open[other], ACROSS);
    }
    return sum;
}
#else
/* all that flows to a site from some of the eight around it */
static __device__ float inflow(const float *plane, const float *openness, Site site, int first,
                               int last, float share, int width, int height)
{
    float here = LOAD(plane + site.i);
    float open_here = LOAD(openness + site.i);
    float sum = 0.0f;
    for (int direction = first; direction < last; direction++) {
        Site next = beside(site, direction, width);
        if (inside(next, width, height)) {
            float there = LOAD(plane + next.i);
            float open_there = LOAD(openness + next.i);
            sum += flow(here, there, open_here, open_there, share);
        }
    }
    return sum;
}
#endif

/* one medium spreads and fades */
static __device__ void spread(const float *plane, float *plane_next, const float *openness,
                              float *tile, float *open_tile, Medium medium, int width, int height)
{
#if TILE
    load_tile(plane, tile, width, height);
    load_tile(openness, open_tile, width, height);
    __syncthreads();
#endif
    for (int row = 0; row < ROWS; row++) {
        Site site = site_of(row, width);
        if (!inside(site, width, height))
            continue;
#if TILE
        int at = (row * BLOCK_Y + threadIdx.y + 1) * TILE_W + threadIdx.x + 1;
        float here = tile[at];
        float straight = inflow(tile, open_tile, at);
        float across = inflow_across(tile, open_tile, at, site, width, height);
#else
        float here = LOAD(plane + site.i);
        float straight = inflow(plane, openness, site, 0, 4, STRAIGHT, width, height);
        float across = inflow(plane, openness, site, 4, AROUND, ACROSS, width, height);
#endif
        float gained = medium.diffusion * (straight + across);
        float now = (here + gained) * (1.0f - medium.decay);
        plane_next[site.i] = fmaxf(now, 0.0f);
    }
}

/* media flow to the sites around and fade */
__global__ void diffuse(const float *fields, float *fields_next, const float *openness,
                        const Medium *media, int width, int height)
{
#if TILE
    __shared__ float tile[TILE_W * TILE_H];
    __shared__ float open_tile[TILE_W * TILE_H];
#else
    float *tile = 0;
    float *open_tile = 0;
#endif
    int sites = width * height;
#if FUSED
    for (int medium = 0; medium < MEDIA; medium++) {
        spread(fields + medium * sites, fields_next + medium * sites, openness, tile, open_tile,
               media[medium], width, height);
#if TILE
        __syncthreads();
#endif
    }
#else
    int medium = blockIdx.z;
    spread(fields + medium * sites, fields_next + medium * sites, openness, tile, open_tile,
           media[medium], width, height);
#endif
}

/* ---- exchange ---------------------------------------------------------------- */

/* more food is taken up the more there is, but no more than so much */
static __device__ float uptake(float amount, float most, float half)
{
    float wanted = most * (amount / (amount + half));
    return fminf(wanted, amount);
}

/* glucose is burnt as far as oxygen lasts, the rest is fermented */
static __device__ Meal eat(Trait trait, float oxygen, float glucose)
{
    Meal meal;
    meal.oxygen = uptake(oxygen, trait.oxygen_uptake, HALF_OXYGEN);
    meal.glucose = uptake(glucose, trait.glucose_uptake, HALF_GLUCOSE);
    float burnt = fminf(meal.glucose, meal.oxygen * GLUCOSE_PER_OXYGEN);
    float fermented = meal.glucose - burnt;
    meal.energy = burnt * ENERGY_BURNT + fermented * ENERGY_FERMENTED;
    meal.acid = fermented * ACID_FERMENTED;
    return meal;
}

/* what acid costs a cell */
static __device__ float harm_done(Trait trait, float acid)
{
    if (acid <= ACID_TOLERATED)
        return 0.0f;
    return trait.acid_harm * (acid - ACID_TOLERATED);
}

/* a vessel brings oxygen and glucose and carries off acid */
static __device__ void perfuse(float *oxygen, float *glucose, float *acid)
{
    *oxygen = *oxygen + PERFUSION * (BLOOD_OXYGEN - *oxygen);
    *glucose = *glucose + PERFUSION * (BLOOD_GLUCOSE - *glucose);
    *acid = *acid - PERFUSION * *acid;
}

#if SHARED_TRAITS
/* copy what sorts of cells are like */
static __device__ void load_traits(Trait *copy)
{
    int thread = threadIdx.y * BLOCK_X + threadIdx.x;
    if (thread < KINDS)
        copy[thread] = traits[thread];
    __syncthreads();
}
#endif

/* cells eat, release acid and signal, gain and lose energy */
__global__ void exchange(const int *kind, float *energy, float *fields, int width, int height)
{
#if SHARED_TRAITS
    __shared__ Trait known[KINDS];
    load_traits(known);
#else
    const Trait *known = traits;
#endif
    int sites = width * height;
    for (int row = 0; row < ROWS; row++) {
        Site site = site_of(row, width);
        if (!inside(site, width, height))
            continue;
        int now = kind[site.i];
        float oxygen = fields[OXYGEN * sites + site.i];
        float glucose = fields[GLUCOSE * sites + site.i];
        float acid = fields[ACID * sites + site.i];
        float signal = fields[SIGNAL * sites + site.i];
        if (now == VESSEL) {
            perfuse(&oxygen, &glucose, &acid);
        } else if (alive(now)) {
            Trait trait = known[now];
            Meal meal = eat(trait, oxygen, glucose);
            float left = energy[site.i] + meal.energy;
            left = left - trait.upkeep;
            left = left - harm_done(trait, acid);
            energy[site.i] = clamp(left, 0.0f, MOST_ENERGY);
            oxygen = oxygen - meal.oxygen;
            glucose = glucose - meal.glucose;
            acid = acid + meal.acid;
            if (oxygen < HYPOXIC)
                signal = signal + trait.signal_release;
        }
        fields[OXYGEN * sites + site.i] = oxygen;
        fields[GLUCOSE * sites + site.i] = glucose;
        fields[ACID * sites + site.i] = acid;
        fields[SIGNAL * sites + site.i] = signal;
    }
}

/* ---- border ------------------------------------------------------------------ */

/* the sites along the edge, one after the other: top, bottom, left, right */
static __device__ Site edge_site(int number, int width, int height)
{
    Site site;
    int rest = number - 2 * width;
    if (number < width) {
        site.x = number;
        site.y = 0;
    } else if (number < 2 * width) {
        site.x = number - width;
        site.y = height - 1;
    } else if (rest < height - 2) {
        site.x = 0;
        site.y = rest + 1;
    } else {
        site.x = width - 1;
        site.y = rest - (height - 2) + 1;
    }
    site.i = site.y * width + site.x;
    return site;
}

/* the next site that is not at the edge */
static __device__ Site inner_site(Site edge, int width, int height)
{
    Site site;
    site.x = min(max(edge.x, 1), width - 2);
    site.y = min(max(edge.y, 1), height - 2);
    site.i = site.y * width + site.x;
    return site;
}

/* media seep in and out at the edge of the tissue */
__global__ void border(float *fields, const float *openness, const Medium *media, int width,
                       int height)
{
    int number = blockIdx.x * EDGE_BLOCK + threadIdx.x;
    int plane = blockIdx.y;
    int edges = 2 * width + 2 * (height - 2);
    if (number < edges && plane < MEDIA) {
        Medium medium = media[plane];
        float *field = fields + plane * width * height;
        Site edge = edge_site(number, width, height);
        Site inner = inner_site(edge, width, height);
        float here = field[edge.i];
        float seeping = medium.seep * LOAD(openness + edge.i);
        float now = here + seeping * (medium.outside - here);
        now = now + EDGE_MIX * (field[inner.i] - here);
        field[edge.i] = fmaxf(now, 0.0f);
    }
}

/* ---- regulate ---------------------------------------------------------------- */

/* nothing is left of a cell */
static __device__ Cell no_cell()
{
    Cell cell;
    cell.kind = EMPTY;
    cell.clock = 0;
    cell.energy = 0.0f;
    cell.clone = 0;
    return cell;
}

static __device__ Cell load_cell(const int *kind, const int *clock, const float *energy,
                                 const uint32_t *clone, int i)
{
    Cell cell;
    cell.kind = kind[i];
    cell.clock = clock[i];
    cell.energy = energy[i];
    cell.clone = clone[i];
    return cell;
}

static __device__ void store_cell(int *kind, int *clock, float *energy, uint32_t *clone, int i,
                                  Cell cell)
{
    kind[i] = cell.kind;
    clock[i] = cell.clock;
    energy[i] = cell.energy;
    clone[i] = cell.clone;
}

/* a dead cell is cleared away after some steps */
static __device__ Cell decay(Cell cell)
{
    cell.clock--;
    if (cell.clock <= 0)
        return no_cell();
    return cell;
}

/* a cell that has no energy left dies */
static __device__ Cell die(Cell cell, int dying)
{
    cell.kind = DEAD;
    cell.clock = dying;
    cell.energy = 0.0f;
    return cell;
}

/* stroma renews itself now and then */
static __device__ int wish_of_stroma(Cell cell, const Rules *rules, uint32_t word)
{
    if (cell.energy < rules->division_energy)
        return STAY;
    return happens(word, rules->turnover) ? DIVIDE : STAY;
}

/* a cell of the tumour divides once its clock has run down, and wanders where it suffocates */
static __device__ int wish_of_tumour(Cell cell, float oxygen, const Rules *rules, uint32_t word)
{
    if (cell.clock <= 0 && cell.energy >= rules->division_energy)
        return DIVIDE;
    if (oxygen < HYPOXIC && happens(word, rules->motility))
        return MOVE;
    return STAY;
}

/* cells age, die, decide to rest, to move or to divide */
__global__ void regulate(int *kind, int *clock, float *energy, uint32_t *clone,
                         const float *fields, int *wish, const Rules *rules, int width,
                         int height, int dying, uint32_t seed, int step)
{
    int sites = width * height;
    for (int row = 0; row < ROWS; row++) {
        Site site = site_of(row, width);
        if (!inside(site, width, height))
            continue;
        Cell cell = load_cell(kind, clock, energy, clone, site.i);
        uint32_t word = draw(seed, step, site.i, FOR_WISH);
        int wanted = STAY;
        if (alive(cell.kind) && cell.energy <= 0.0f) {
            cell = die(cell, dying);
        } else {
            switch (cell.kind) {
            case DEAD:
                cell = decay(cell);
                break;
            case STROMA:
                wanted = wish_of_stroma(cell, rules, word);
                break;
            case IMMUNE:
                cell.clock--;
                if (cell.clock <= 0)
                    cell = no_cell();
                else if (happens(word, rules->patrol))
                    wanted = MOVE;
                break;
            case TUMOUR:
            case STEM:
                if (cell.clock > 0 && cell.energy >= rules->rest_energy)
                    cell.clock--;
                wanted = wish_of_tumour(cell, fields[OXYGEN * sites + site.i], rules, word);
                break;
            default:
                break;
            }
        }
        store_cell(kind, clock, energy, clone, site.i, cell);
        wish[site.i] = wanted;
    }
}

/* ---- choose ------------------------------------------------------------------ */

/* how much a cell likes a site: food, the signal, its own kind, and chance */
static __device__ float liking(Trait trait, const int *kind, const float *fields, Site here,
                               Site there, int width, int height, uint32_t word)
{
    int sites = width * height;
    const float *oxygen = fields + OXYGEN * sites;
    const float *signal = fields + SIGNAL * sites;
    float score = trait.to_oxygen * (oxygen[there.i] - oxygen[here.i]);
    score = score + trait.to_signal * (signal[there.i] - signal[here.i]);
    if (trait.adhesion != 0.0f) {
        int alike = count_around(kind, there, kind[here.i], width, height);
        score = score + trait.adhesion * (float)alike;
    }
    return score + NOISE * fraction(word);
}

/* the empty site that a cell likes best */
static __device__ Choice best_site(Trait trait, const int *kind, const float *fields, Site site,
                                   int width, int height, uint32_t word)
{
    Choice best;
    best.score = -1.0e30f;
    best.goal = NOWHERE;
    for (int direction = 0; direction < AROUND; direction++) {
        Site next = beside(site, direction, width);
        word = scramble(word + (uint32_t)direction);
        if (!inside(next, width, height))
            continue;
        if (kind[next.i] != EMPTY)
            continue;
        float score = liking(trait, kind, fields, site, next, width, height, word);
        if (score > best.score) {
            best.score = score;
            best.goal = next.i;
        }
    }
    return best;
}

/* who moves or divides picks an empty site beside it, and draws a lot for it */
__global__ void choose(const int *kind, const float *fields, const int *wish, int *goal,
                       uint32_t *rank, int width, int height, uint32_t seed, int step)
{
#if SHARED_TRAITS
    __shared__ Trait known[KINDS];
    load_traits(known);
#else
    const Trait *known = traits;
#endif
    for (int row = 0; row < ROWS; row++) {
        Site site = site_of(row, width);
        if (!inside(site, width, height))
            continue;
        int picked = NOWHERE;
        uint32_t lot = 0;
        if (wish[site.i] != STAY) {
            uint32_t word = draw(seed, step, site.i, FOR_NOISE);
            Trait trait = known[kind[site.i]];
            Choice best = best_site(trait, kind, fields, site, width, height, word);
            picked = best.goal;
            lot = draw(seed, step, site.i, FOR_RANK);
        }
        goal[site.i] = picked;
        rank[site.i] = lot;
    }
}

/* ---- settle ------------------------------------------------------------------ */

/* who of those around a site that picked it has the highest lot; the first of equals */
static __device__ int winner(const int *goal, const uint32_t *rank, Site site, int width,
                             int height)
{
    int found = NOWHERE;
    uint32_t highest = 0;
    for (int direction = 0; direction < AROUND; direction++) {
        Site next = beside(site, direction, width);
        if (!inside(next, width, height))
            continue;
        if (goal[next.i] != site.i)
            continue;
        if (found == NOWHERE || rank[next.i] > highest) {
            found = next.i;
            highest = rank[next.i];
        }
    }
    return found;
}

/* steps to the next division: some clones are slower */
static __device__ int cycle_of(uint32_t clone, int cycle, uint32_t word)
{
    return period(word, cycle) + (int)(clone & 3u);
}

/* what comes of a division beside the cell that divided */
static __device__ Cell child_of(Cell parent, const Rules *rules, int cycle, uint32_t seed,
                                int step, int site)
{
    Cell child = parent;
    uint32_t word = draw(seed, step, site, FOR_CHILD);
    if (parent.kind == STEM && !happens(word, rules->renewal))
        child.kind = TUMOUR;
    word = scramble(word);
    if (of_tumour(parent.kind) && happens(word, rules->mutation))
        child.clone = scramble(parent.clone + word);
    child.energy = 0.5f * parent.energy;
    child.clock = 0;
    if (of_tumour(child.kind))
        child.clock = cycle_of(child.clone, cycle, draw(seed, step, site, FOR_CLOCK));
    return child;
}

/* the cell itself, after it divided */
static __device__ Cell parent_after(Cell parent, int cycle, uint32_t seed, int step, int site)
{
    parent.energy = 0.5f * parent.energy;
    parent.clock = 0;
    if (of_tumour(parent.kind))
        parent.clock = cycle_of(parent.clone, cycle, draw(seed, step, site, FOR_CLOCK));
    return parent;
}

/* a vessel sprouts into an empty site that calls for it */
static __device__ bool sprouts(const int *kind, Site site, float signal, const Rules *rules,
                               int width, int height, uint32_t word)
{
    if (signal < rules->sprout_signal)
        return false;
    int vessels = count_around(kind, site, VESSEL, width, height);
    if (vessels == 0 || vessels > 2)
        return false;
    return happens(word, rules->sprouting * signal);
}

/* an immune cell comes out of a vessel into an empty site beside it */
static __device__ bool arrives(const int *kind, Site site, float signal, const Rules *rules,
                               int width, int height, uint32_t word)
{
    if (signal < rules->arrival_signal)
        return false;
    if (count_around(kind, site, VESSEL, width, height) == 0)
        return false;
    return happens(word, rules->arrival);
}

/* a vessel, or an immune cell, or still nothing where nobody moved to */
static __device__ Cell grown(const int *kind, Site site, float signal, const Rules *rules,
                             int width, int height, int lifetime, uint32_t seed, int step)
{
    Cell cell = no_cell();
    uint32_t word = draw(seed, step, site.i, FOR_SPROUT);
    if (sprouts(kind, site, signal, rules, width, height, word)) {
        cell.kind = VESSEL;
        return cell;
    }
    word = draw(seed, step, site.i, FOR_ARRIVAL);
    if (arrives(kind, site, signal, rules, width, height, word)) {
        cell.kind = IMMUNE;
        cell.energy = 0.5f * MOST_ENERGY;
        cell.clock = period(scramble(word), lifetime);
    }
    return cell;
}

/* a cell of the tumour may be killed by immune cells beside it */
static __device__ bool killed(const int *kind, Site site, const Rules *rules, int width,
                              int height, uint32_t word)
{
    int killers = count_around(kind, site, IMMUNE, width, height);
    if (killers == 0)
        return false;
    return happens(word, rules->killing * (float)killers);
}

/* of all who picked a site one gets it; vessels sprout, immune cells come and kill */
__global__ void settle(const int *kind, const int *clock, const float *energy,
                       const uint32_t *clone, int *kind_next, int *clock_next,
                       float *energy_next, uint32_t *clone_next, const int *wish,
                       const int *goal, const uint32_t *rank, const float *fields,
                       unsigned long long *totals, const Rules *rules, int width, int height,
                       int cycle, int dying, int lifetime, uint32_t seed, int step)
{
    __shared__ unsigned int events[EVENTS];
    int thread = threadIdx.y * BLOCK_X + threadIdx.x;
    const float *signal = fields + SIGNAL * width * height;
    if (thread < EVENTS)
        events[thread] = 0;
    __syncthreads();
    for (int row = 0; row < ROWS; row++) {
        Site site = site_of(row, width);
        if (!inside(site, width, height))
            continue;
        Cell cell = load_cell(kind, clock, energy, clone, site.i);
        if (cell.kind == EMPTY) {
            int from = NOWHERE;
#if LOOK_FIRST
            int empty = count_around(kind, site, EMPTY, width, height);
            if (empty < AROUND)
                from = winner(goal, rank, site, width, height);
#else
            from = winner(goal, rank, site, width, height);
#endif
            if (from == NOWHERE) {
                cell = grown(kind, site, LOAD(signal + site.i), rules, width, height, lifetime,
                             seed, step);
            } else {
                Cell other = load_cell(kind, clock, energy, clone, from);
                if (LOAD(wish + from) == DIVIDE) {
                    cell = child_of(other, rules, cycle, seed, step, site.i);
                    atomicAdd(&events[DIVISIONS - SUMS], 1u);
                } else {
                    cell = other;
                    atomicAdd(&events[MOVES - SUMS], 1u);
                }
            }
        } else {
            int to = LOAD(goal + site.i);
            bool goes = false;
            if (to != NOWHERE) {
                Site wanted;
                wanted.x = to % width;
                wanted.y = to / width;
                wanted.i = to;
                goes = winner(goal, rank, wanted, width, height) == site.i;
            }
            if (goes && LOAD(wish + site.i) == DIVIDE) {
                cell = parent_after(cell, cycle, seed, step, site.i);
            } else if (goes) {
                cell = no_cell();
            } else if (of_tumour(cell.kind)) {
                uint32_t word = draw(seed, step, site.i, FOR_KILL);
                if (killed(kind, site, rules, width, height, word)) {
                    cell = die(cell, dying);
                    atomicAdd(&events[KILLS - SUMS], 1u);
                }
            }
        }
        store_cell(kind_next, clock_next, energy_next, clone_next, site.i, cell);
    }
    __syncthreads();
    if (thread < EVENTS && events[thread] != 0)
        atomicAdd(&totals[step * TOTALS + DIVISIONS + thread],
                  (unsigned long long)events[thread]);
}

/* ---- census ------------------------------------------------------------------ */

/* the level of energy that a cell is counted under */
static __device__ int level_of(float energy)
{
    int level = (int)(energy * ((float)LEVELS / MOST_ENERGY));
    return min(max(level, 0), LEVELS - 1);
}

/* add up what the threads of a block have; the sums are then the first slots */
static __device__ void add_up(unsigned long long *sums, unsigned long long *mine, int thread)
{
#if REDUCE == 0
    if (thread < SUMS)
        sums[thread] = 0;
    __syncthreads();
    for (int q = 0; q < SUMS; q++) {
        if (mine[q] != 0)
            atomicAdd(&sums[q], mine[q]);
    }
    __syncthreads();
#elif REDUCE == 1
    for (int q = 0; q < SUMS; q++)
        sums[q * SLOTS + thread] = mine[q];
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half = half / 2) {
        if (thread < half) {
            for (int q = 0; q < SUMS; q++)
                sums[q * SLOTS + thread] += sums[q * SLOTS + thread + half];
        }
        __syncthreads();
    }
#else
    for (int q = 0; q < SUMS; q++) {
        unsigned long long sum = mine[q];
        for (int distance = WARP / 2; distance > 0; distance = distance / 2)
            sum += __shfl_down_sync(ALL_LANES, sum, distance);
        if (thread % WARP == 0)
            sums[q * SLOTS + thread / WARP] = sum;
    }
    __syncthreads();
    if (thread < SUMS) {
        for (int warp = 1; warp < SLOTS; warp++)
            sums[thread * SLOTS] += sums[thread * SLOTS + warp];
    }
    __syncthreads();
#endif
}

/* what there is in the tissue now */
__global__ void census(const int *kind, const int *clock, const float *energy,
                       const float *fields, unsigned long long *totals, unsigned int *spectrum,
                       int width, int height, int step)
{
    __shared__ unsigned long long sums[SUMS * SLOTS];
    __shared__ unsigned int levels[LEVELS];
    __shared__ int longest;
    int sites = width * height;
    int thread = threadIdx.y * BLOCK_X + threadIdx.x;
    unsigned long long mine[SUMS];
    int my_longest = 0;

    for (int q = 0; q < SUMS; q++)
        mine[q] = 0;
    if (thread < LEVELS)
        levels[thread] = 0;
    if (thread == 0)
        longest = 0;
    __syncthreads();

    for (int row = 0; row < ROWS; row++) {
        Site site = site_of(row, width);
        if (!inside(site, width, height))
            continue;
        int now = LOAD(kind + site.i);
        for (int q = 0; q < KINDS; q++) {
            if (now == q)
                mine[q] = mine[q] + 1;
        }
        mine[ENERGY_SUM] = mine[ENERGY_SUM] + parts(LOAD(energy + site.i));
        for (int medium = 0; medium < MEDIA; medium++) {
            float amount = LOAD(fields + medium * sites + site.i);
            mine[MEDIA_SUM + medium] = mine[MEDIA_SUM + medium] + parts(amount);
        }
        if (alive(now))
            atomicAdd(&levels[level_of(LOAD(energy + site.i))], 1u);
        my_longest = max(my_longest, LOAD(clock + site.i));
    }
    atomicMax(&longest, my_longest);
    add_up(sums, mine, thread);

    if (thread < SUMS)
        atomicAdd(&totals[step * TOTALS + thread], sums[thread * SLOTS]);
    if (thread < LEVELS && levels[thread] != 0)
        atomicAdd(&spectrum[step * LEVELS + thread], levels[thread]);
    if (thread == 0)
        atomicMax(&totals[step * TOTALS + LONGEST], (unsigned long long)longest);
}
