"""Launches of kernels: geometry, arguments, options."""
