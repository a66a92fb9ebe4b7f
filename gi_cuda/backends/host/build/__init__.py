"""Compiling kernels for the CPU."""
