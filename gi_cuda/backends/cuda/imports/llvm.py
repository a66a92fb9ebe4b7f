"""Compile LLVM-IR to PTX with the NVPTX target of llvmlite.

LLVM ends its process if it cannot compile something. So it runs in a process of its own: this
module, run as a program.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from gi_cuda.backends.compile.process import run
from gi_cuda.errors import UserError

INSTALL = "pip install 'gi-cuda[llvm]'"
"""Command that installs llvmlite."""

LIMIT = 300.0
"""Seconds of wall time that LLVM may take."""

_TRIPLE = "nvptx64-nvidia-cuda"
_MOST = 3
"""Optimization level of code generation."""


def ptx_of_ir(file: Path, architecture: str) -> str:
    """Return the PTX of a module. Only code generation optimizes; the module is used unchanged.

    Args:
        file: bitcode if it ends in ``.bc``, else text.
        architecture: architecture to compile for, e.g. ``sm_90``.

    Raises:
        UserError: llvmlite is missing, or LLVM cannot compile the module for NVIDIA's GPUs.
    """
    if importlib.util.find_spec("llvmlite") is None:
        raise UserError(
            "LLVM-IR needs llvmlite, which is not installed", hint=f"install it: {INSTALL}"
        )
    finished = run([sys.executable, "-m", __name__, file, architecture], limit=LIMIT)
    if finished.ok:
        return finished.stdout
    if finished.status is None:
        raise UserError(f"LLVM does not end within {LIMIT:g} s")
    said = [line.strip() for line in finished.stderr.splitlines() if line.strip()]
    told = [line for line in said if "error" in line.lower()] or said
    raise UserError(f"LLVM does not compile it: {told[0] if told else 'it gives no reason'}")


def _compile(content: bytes, *, bitcode: bool, architecture: str) -> str:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_bitcode(content) if bitcode else llvm.parse_assembly(content.decode())
    module.verify()
    if module.triple and not module.triple.startswith("nvptx64"):
        raise ValueError(f"error: it is for {module.triple}, not for {_TRIPLE}")
    module.triple = module.triple or _TRIPLE
    target = llvm.Target.from_triple(_TRIPLE)
    machine = target.create_target_machine(cpu=architecture, opt=_MOST)
    return str(machine.emit_assembly(module))


def _main(file: str, architecture: str) -> int:
    path = Path(file)
    bitcode = path.suffix == ".bc"
    try:
        ptx = _compile(path.read_bytes(), bitcode=bitcode, architecture=architecture)
    except (RuntimeError, ValueError, OSError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    sys.stdout.write(ptx)
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
