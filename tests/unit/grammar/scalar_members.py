"""Loops before and after members of structures, and elements that are only read, are kept."""

MEMBERS = {
    "members of structures": (
        "scalar_K",
        """\
struct Body { float x, v; };
__global__ void move(Body *bodies, const float *force, int m) {
    int i = threadIdx.x;
    for (int j = 0; j < m; j++) {
        bodies[i].v += force[i];
        bodies[i].x += bodies[i].v;
    }
}
""",
        """\
struct Body { float x, v; };
__global__ void move(Body *bodies, const float *force, int m) {
    int i = threadIdx.x;
    float bodies_v = bodies[i].v;
    float bodies_x = bodies[i].x;
    const float force_i = force[i];
    for (int j = 0; j < m; j++) {
        bodies_v += force_i;
        bodies_x += bodies_v;
    }
    bodies[i].v = bodies_v;
    bodies[i].x = bodies_x;
}
""",
    ),
    "arrays in a structure": (
        "scalar_K",
        """\
typedef float row_t[64];
typedef struct { row_t x; row_t v; int most; } rows_t;
__global__ void move(rows_t *const rows, const rows_t *const by, int m) {
    int i = threadIdx.x;
    for (int j = 0; j < by->most; j++) {
        rows->x[i] += by->v[i];
        rows->v[i] += m;
    }
}
""",
        """\
typedef float row_t[64];
typedef struct { row_t x; row_t v; int most; } rows_t;
__global__ void move(rows_t *const rows, const rows_t *const by, int m) {
    int i = threadIdx.x;
    float rows_x = rows->x[i];
    float rows_v = rows->v[i];
    const int by_most = by->most;
    const float by_v = by->v[i];
    for (int j = 0; j < by_most; j++) {
        rows_x += by_v;
        rows_v += m;
    }
    rows->x[i] = rows_x;
    rows->v[i] = rows_v;
}
""",
    ),
    "several elements that the loop only reads, in a branch of #if": (
        "scalar_K",
        """\
__global__ void spread(const int *first, const float *a, float *b) {
    int i = threadIdx.x;
#ifdef SPREAD
    for (int j = first[i]; j < first[i + 1]; j++) {
        b[j] = a[i] * a[j];
    }
#endif
}
""",
        """\
__global__ void spread(const int *first, const float *a, float *b) {
    int i = threadIdx.x;
#ifdef SPREAD
    const int first_value = first[i + 1];
    const float a_i = a[i];
    for (int j = first[i]; j < first_value; j++) {
        b[j] = a_i * a[j];
    }
#endif
}
""",
    ),
}
