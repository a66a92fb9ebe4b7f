"""LLVM-IR to simpler IR or to PTX, in this process, with the NVPTX target of llvmlite.

LLVM ends its process where it cannot compile something, so this runs in processes of its own: see
:mod:`gi_cuda.backends.cuda.llvm.lowering`.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from typing import Any

import llvmlite.binding as llvm

TRIPLE = "nvptx64-nvidia-cuda"

_LEVEL = 3
"""Level of optimisation."""

_FEATURES = re.compile(r'"target-features"="([^"]*)"')
_DEBUGGING = re.compile(r",? !dbg !\d+")
_COMDAT = re.compile(r"^\$\S+ = comdat \w+\n|(?<=[^\n]),? comdat(?:\(\$[^)]*\))?(?=[ ,\n])", re.M)
"""Marks for a linker; PTX is not linked."""
_EMITTED = re.compile(r"\bemissionKind: \w+")


class Stage(Enum):
    """The result that a module is compiled to.

    SIMPLIFIED: IR with a name for every value, and local variables in registers.
    OPTIMISED: PTX, after all optimisations, without line information.
    GENERATED: PTX; only code generation optimises.
    """

    SIMPLIFIED = "simplified"
    OPTIMISED = "optimised"
    GENERATED = "generated"


def compiled(content: str | bytes, architecture: str, stage: Stage) -> str:
    """Compile a module.

    Args:
        content: text, or bitcode as bytes.
        architecture: the GPU, e.g. ``sm_90``.

    Raises:
        RuntimeError: LLVM does not read or compile it.
        ValueError: it is for no GPU of NVIDIA's.
    """
    _initialize()
    if stage is Stage.OPTIMISED and isinstance(content, str):
        content = _EMITTED.sub("emissionKind: NoDebug", _DEBUGGING.sub("", content))
    if stage is not Stage.GENERATED:
        _shorten()
    module = _read(content)
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=architecture, opt=_LEVEL, features=_features(content)
    )
    if stage is Stage.GENERATED:
        return str(machine.emit_assembly(module))
    options = llvm.create_pipeline_tuning_options(speed_level=_LEVEL)
    options.slp_vectorization = True  # as clang has it at this level
    builder = llvm.create_pass_builder(machine, options)
    if stage is Stage.OPTIMISED:
        builder.getModulePassManager().run(module, builder)
        return str(machine.emit_assembly(module))
    _simplify(module, builder)
    # Read again, values have the numbers that they are printed with.
    return str(_read(_COMDAT.sub("", str(module))))


@cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@cache
def _shorten() -> None:
    """Make pointers to shared, constant and local memory 32 bits wide in this process."""
    llvm.set_option("gi-cuda", "-nvptx-short-ptr")


def _read(content: str | bytes) -> Any:
    read = llvm.parse_bitcode if isinstance(content, bytes) else llvm.parse_assembly
    module = read(content, context=llvm.create_context())
    module.verify()
    if module.triple and not module.triple.startswith("nvptx64"):
        raise ValueError(f"error: it is for {module.triple}, not for {TRIPLE}")
    module.triple = module.triple or TRIPLE
    return module


def _features(content: str | bytes) -> str:
    """Return the features of the GPU that clang wrote down, among them the version of PTX."""
    found = _FEATURES.search(content) if isinstance(content, str) else None
    return found[1] if found else ""


def _simplify(module: Any, builder: Any) -> None:
    """Make functions that are always inlined part of their callers, and locals registers."""
    for function in module.functions:
        if not function.is_declaration and " ptx_kernel " not in str(function).split("{", 1)[0]:
            function.linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_instruction_namer_pass()
    passes.run(module, builder)
