"""Targets: the source to evolve, its launches, its inputs and its oracle."""

from gi_cuda.spec.application import Application
from gi_cuda.spec.case_data.cases import (
    CaseData,
    cases_for,
    confirm_cases,
    find_case,
    load_case,
    siblings,
)
from gi_cuda.spec.case_data.given import Given, given
from gi_cuda.spec.launching.images import Surface, Texture, View
from gi_cuda.spec.launching.launches import (
    Argument,
    Launch,
    LaunchError,
    Packed,
    buffer_begins,
    buffer_sizes,
    final_storage,
    plan,
)
from gi_cuda.spec.launching.options import compiler_options, macros
from gi_cuda.spec.launching.passed import Struct
from gi_cuda.spec.launching.usual import usual_arguments
from gi_cuda.spec.oracles import Judgement, Oracle, Reference
from gi_cuda.spec.parameters import Configuration, Constraint, Parameter, ParameterKind, Value
from gi_cuda.spec.target import Buffer, BufferRole, Case, CaseRole, KernelStep, Target, defaults
from gi_cuda.spec.toml_file.fingerprint import content_hash, file_hashes, is_unchanged
from gi_cuda.spec.toml_file.load import load_target

__all__ = [
    "Application",
    "Argument",
    "Buffer",
    "BufferRole",
    "Case",
    "CaseData",
    "CaseRole",
    "Configuration",
    "Constraint",
    "Given",
    "Judgement",
    "KernelStep",
    "Launch",
    "LaunchError",
    "Oracle",
    "Packed",
    "Parameter",
    "ParameterKind",
    "Reference",
    "Struct",
    "Surface",
    "Target",
    "Texture",
    "Value",
    "View",
    "buffer_begins",
    "buffer_sizes",
    "cases_for",
    "compiler_options",
    "confirm_cases",
    "content_hash",
    "defaults",
    "file_hashes",
    "final_storage",
    "find_case",
    "given",
    "is_unchanged",
    "load_case",
    "load_target",
    "macros",
    "plan",
    "siblings",
    "usual_arguments",
]
