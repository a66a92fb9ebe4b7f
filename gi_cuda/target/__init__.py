"""A target: what to evolve, how to launch it, its inputs and its oracle."""

from gi_cuda.target.cases import CaseData, cases_for, find_case, load_case
from gi_cuda.target.configuration import compiler_options, defaults, macros
from gi_cuda.target.fingerprint import content_hash
from gi_cuda.target.launches import (
    Argument,
    Launch,
    LaunchError,
    Redrawn,
    buffer_sizes,
    final_storage,
    plan,
)
from gi_cuda.target.load import load_target
from gi_cuda.target.model import (
    BACKENDS,
    Buffer,
    BufferRole,
    BuildOptions,
    Case,
    CaseRole,
    Configuration,
    Constraint,
    KernelStep,
    LaunchSequence,
    Parameter,
    ParameterKind,
    Scalar,
    Target,
    Texture,
    Timing,
    Value,
)
from gi_cuda.target.oracle import Oracle, Reference, Verdict

__all__ = [
    "BACKENDS",
    "Argument",
    "Buffer",
    "BufferRole",
    "BuildOptions",
    "Case",
    "CaseData",
    "CaseRole",
    "Configuration",
    "Constraint",
    "KernelStep",
    "Launch",
    "LaunchError",
    "LaunchSequence",
    "Oracle",
    "Parameter",
    "ParameterKind",
    "Redrawn",
    "Reference",
    "Scalar",
    "Target",
    "Texture",
    "Timing",
    "Value",
    "Verdict",
    "buffer_sizes",
    "cases_for",
    "compiler_options",
    "content_hash",
    "defaults",
    "final_storage",
    "find_case",
    "load_case",
    "load_target",
    "macros",
    "plan",
]
