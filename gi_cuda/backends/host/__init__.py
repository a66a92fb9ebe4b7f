"""CUDA's words on a CPU: a header for kernels, the runtime that runs them, and its Python side."""
