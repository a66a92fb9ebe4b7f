// Found from where window.cuh is, not from where the source is.
#define LOWEST 0
