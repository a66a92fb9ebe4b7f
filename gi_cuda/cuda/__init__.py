"""What is there of CUDA: the toolkit's compiler, the driver and its devices, helper kernels."""

from gi_cuda.cuda.driver import Driver, Gpu, query, require_gpu
from gi_cuda.cuda.toolkit import INSTALL, Toolkit, find_toolkit

__all__ = ["INSTALL", "Driver", "Gpu", "Toolkit", "find_toolkit", "query", "require_gpu"]
