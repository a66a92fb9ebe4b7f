"""From an application that runs to a target: its launches, with what they got and made of it."""

from gi_cuda.capture.capturing import Capture, capture, list_kernels
from gi_cuda.capture.reading import Wish
from gi_cuda.capture.running import Application
from gi_cuda.capture.uses import CASES, KernelUse

__all__ = [
    "CASES",
    "Application",
    "Capture",
    "KernelUse",
    "Wish",
    "capture",
    "list_kernels",
]
