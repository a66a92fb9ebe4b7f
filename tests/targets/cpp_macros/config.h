// Defaults that the source does not know of, and macros that it changes.
#ifndef CONFIG_H
#define CONFIG_H
#ifndef SCALE
#define SCALE 3
#endif
#ifndef DEPTH
#define DEPTH 2
#endif
#define OFFSET 100
#define STEPS 4
#ifndef FROM_TARGET
#error "FROM_TARGET must be defined when this is compiled"
#endif
#define MEASURED(x) ((x) + OFFSET)

inline __device__ float deepened(float value) { return value * DEPTH * FROM_TARGET; }
#endif
