"""From an application that runs to a target: its launches, with what they got and made of it."""

from gi_cuda.capture.capturing import Capture, capture, known_kernels, list_kernels
from gi_cuda.capture.reading import Wish, worth_most
from gi_cuda.capture.running import TIME, Application
from gi_cuda.capture.uses import CASES, KernelUse

__all__ = [
    "CASES",
    "TIME",
    "Application",
    "Capture",
    "KernelUse",
    "Wish",
    "capture",
    "known_kernels",
    "list_kernels",
    "worth_most",
]
