"""The host back end: emulates CUDA on the CPU with a header for kernels and a runtime library."""
