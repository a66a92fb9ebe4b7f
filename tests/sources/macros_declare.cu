// Macros that declare, open and close blocks, return, break, define whole functions or loops.
#define THREAD_INDEX int i = blockIdx.x * blockDim.x + threadIdx.x
#define DECLARE(type, name, value) type name = value
#define GUARD(n) if (i >= (n)) return
#define BEGIN_IF(c) if (c) {
#define END_IF }
#define STOP_IF(c) if (c) break
#define OTHERWISE else
#define DEFINE_OP(name, op) __device__ int name(int a, int b) { int c = a op b; return c; }
#define KERNEL __global__ void
#define ARGS int *out, const int *in, int n
#define LOCALS int local = 0; float part = 1.0f
#define LABEL(x) x##_label:
DEFINE_OP(plus_of, +)
DEFINE_OP(times_of, *)

KERNEL macros_declare(ARGS)
{
    THREAD_INDEX;
    GUARD(n);
    DECLARE(int, first, in[i]);
    LOCALS;
    first += 2;
    BEGIN_IF(first > 3)
        out[i] = first;
        local++;
    END_IF
    for (int k = 0; k < n; k++) {
        STOP_IF(k > 5);
        local += k;
    }
    if (local > 4) out[0] = local;
    OTHERWISE out[1] = local;
    part *= 2.0f;
    LABEL(here) local--;
    if (local > 100) goto here_label;
    out[i] = plus_of(first, local) + times_of(first, (int)part);
}
