"""A small CUDA kernel and its T1 description, in the dialects of Kernel Tuner and of KTT."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KERNEL = """\
#ifndef tile_size
#define tile_size 2
#endif
#ifndef block_size_x
#define block_size_x 64
#endif

__constant__ float weights[3];

__global__ void smooth(float *out, const float *in, int n, float scale) {
    for (int t = 0; t < tile_size; t++) {
        int i = (blockIdx.x * tile_size + t) * block_size_x + threadIdx.x;
        if (i < n) {
            float sum = weights[0] * in[i] + weights[1] * in[i + 1] + weights[2] * in[i + 2];
            out[i] = sum * scale;
        }
    }
}
"""

Json = dict[str, Any]


def kernel_tuner() -> Json:
    """Return the description in Kernel Tuner's dialect, which BAT shares."""
    return {
        "ConfigurationSpace": {
            "TuningParameters": [
                {"Name": "block_size_x", "Type": "int", "Values": "[32 * i for i in range(1, 5)]"},
                {"Name": "tile_size", "Type": "int", "Values": "list(range(1, 5))"},
            ],
            "Conditions": [
                {
                    "Expression": "32 <= block_size_x * tile_size <= 256",
                    "Parameters": ["block_size_x", "tile_size"],
                }
            ],
        },
        "KernelSpecification": {
            "Language": "CUDA",
            "KernelName": "smooth",
            "KernelFile": "smooth.cu",
            "CompilerOptions": ["-std=c++11", "-use_fast_math", "-DLIMIT=4", "-arch=sm_80"],
            "LocalSize": {"X": "block_size_x", "Y": "1", "Z": "1"},
            "GlobalSize": {"X": "1"},
            "ProblemSize": [1000],
            "GridDivX": ["block_size_x", "tile_size"],
            "Arguments": [
                {
                    "Name": "out", "Type": "float", "MemoryType": "Vector", "Output": 1,
                    "AccessType": "WriteOnly", "FillType": "Constant", "FillValue": 0.0,
                    "Size": "ProblemSize[0]",
                },
                {
                    "Name": "in", "Type": "float", "MemoryType": "Vector",
                    "AccessType": "ReadOnly", "FillType": "Random", "FillValue": 1.0,
                    "Size": "ProblemSize[0] + max(tile_size) - 2",
                },
                {
                    "Name": "weights", "Type": "float", "MemoryType": "Vector",
                    "MemType": "Constant", "AccessType": "ReadOnly", "FillType": "Generator",
                    "DataSource": "0.5 if i == 1 else 0.25", "Size": 3,
                },
                {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 1000},
                {"Name": "scale", "Type": "float", "MemoryType": "Scalar", "FillValue": 0.37},
            ],
        },
    }  # fmt: skip


def ktt() -> Json:
    """Return the description in KTT's dialect."""
    description = kernel_tuner()
    spec = description["KernelSpecification"]
    del spec["ProblemSize"], spec["GridDivX"]
    spec["Arguments"][0]["Size"] = 1000
    spec["Arguments"][1]["Size"] = 1002
    spec["GlobalSizeType"] = "OpenCL"
    spec["GlobalSize"] = {"X": "1000 // tile_size + 1"}
    spec["ReferenceArguments"] = [
        {
            "Name": "reference",
            "TargetName": "out",
            "ValidationMethod": "SideBySideComparison",
            "ValidationThreshold": 0.01,
        }
    ]
    return description


def write(folder: Path, description: Json) -> Path:
    """Write a description with its kernel beside it; return its path."""
    (folder / "smooth.cu").write_text(KERNEL)
    path = folder / "smooth.json"
    path.write_text(json.dumps(description))
    return path
