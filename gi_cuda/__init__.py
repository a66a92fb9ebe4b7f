"""gi-cuda: automatic improvement of CUDA source code by genetic improvement."""

__version__ = "0.1.0"
