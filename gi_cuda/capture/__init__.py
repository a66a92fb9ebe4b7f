"""Make a target from a running application: record its launches, with their inputs and results."""

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
