"""Make a target from a running application: record its launches, with their inputs and results."""

from gi_cuda.capture.capturing import Capture, capture, known_kernels, list_kernels
from gi_cuda.capture.launches.running import TIME, Application
from gi_cuda.capture.launches.uses import CASES, KernelUse
from gi_cuda.capture.reading import Wish, worth_most

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
