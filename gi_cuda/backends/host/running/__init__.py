"""Running kernels on the CPU."""
