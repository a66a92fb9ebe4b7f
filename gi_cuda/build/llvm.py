"""LLVM-IR to PTX, with the NVPTX target of llvmlite."""

from __future__ import annotations

from typing import Any

from gi_cuda.errors import UserError

INSTALL = "pip install 'gi-cuda[llvm]'"
"""The command that installs llvmlite."""

_TRIPLE = "nvptx64-nvidia-cuda"
_MOST = 3
"""Level of optimisation in code generation."""


def ptx_of_ir(content: bytes, *, bitcode: bool, architecture: str) -> str:
    """The PTX of a module, which is taken as it is: only code generation optimises.

    Args:
        content: of the file.
        bitcode: whether that is bitcode and not text.
        architecture: what it is compiled for, e.g. ``sm_90``.

    Raises:
        UserError: llvmlite is missing or knows no such architecture, or the module is no valid one
            for a GPU of NVIDIA's.
    """
    llvm = _llvm()
    try:
        module = llvm.parse_bitcode(content) if bitcode else llvm.parse_assembly(content.decode())
        module.verify()
    except (RuntimeError, UnicodeDecodeError) as error:
        raise UserError(f"LLVM does not read it: {_one_line(error)}") from None
    if module.triple and not module.triple.startswith("nvptx64"):
        raise UserError(
            f"the module is for {module.triple}",
            hint=f"compile it for {_TRIPLE}",
        )
    module.triple = module.triple or _TRIPLE
    try:
        machine = llvm.Target.from_triple(_TRIPLE).create_target_machine(
            cpu=architecture, opt=_MOST
        )
        return str(machine.emit_assembly(module))
    except RuntimeError as error:
        raise UserError(f"LLVM does not compile it: {_one_line(error)}") from None


def _llvm() -> Any:
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise UserError(
            "LLVM-IR needs llvmlite, which is not installed", hint=f"install it: {INSTALL}"
        ) from None
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
