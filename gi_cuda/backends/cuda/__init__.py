"""What is there of CUDA: the toolkit's compiler, the driver and its devices, helper kernels."""

from gi_cuda.backends.cuda.driver import Driver, Gpu, query, require_gpu
from gi_cuda.backends.cuda.toolkit import INSTALL, Toolkit, find_toolkit

__all__ = ["INSTALL", "Driver", "Gpu", "Toolkit", "find_toolkit", "query", "require_gpu"]
