"""Declarations of a CUDA file: kernels, functions, types, constants."""
