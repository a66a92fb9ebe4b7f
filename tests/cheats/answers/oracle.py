"""Oracle that looks for large differences; it misses NaN, which compares as false."""

import numpy as np


def penalty(case, outputs, reference):
    return int((np.abs(outputs["mean"] - reference["mean"]) > 1e-5).sum())
