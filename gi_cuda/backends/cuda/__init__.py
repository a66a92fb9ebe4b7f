"""The CUDA back end: compiles variants with nvcc or ptxas and runs them on GPUs."""
