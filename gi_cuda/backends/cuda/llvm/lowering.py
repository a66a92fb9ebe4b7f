"""Processes that compile LLVM-IR, since LLVM ends its process where it cannot compile something.

Each is a helper (see :mod:`gi_cuda.backends.helpers`) that compiles one module after the other.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from gi_cuda.backends.compile.process import run
from gi_cuda.backends.helpers import GONE, HelperPool, serve
from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.llvm.syntax import check_llvmlite

LIMIT = 60.0
"""Seconds of wall time that LLVM may take for a module."""

_IDLE = 60.0
"""Seconds after which a process ends that has nothing to do."""

_HELPERS = HelperPool(__name__, os.cpu_count() or 1, LIMIT)


def lowered(content: str | bytes, architecture: str, stage: str) -> str:
    """Compile a module in another process.

    Args:
        content: text, or bitcode as bytes.
        architecture: the GPU, e.g. ``sm_90``.
        stage: value of a :class:`gi_cuda.backends.cuda.llvm.pipeline.Stage`.

    Raises:
        UserError: llvmlite is missing, or LLVM does not compile the module.
    """
    check_llvmlite()
    try:
        if stage == "generated":  # others have pointers of another size
            error, text = _alone(content, architecture, stage)
        else:
            error, text = _HELPERS.ask((content, architecture, stage))
    except TimeoutError:
        raise UserError(f"LLVM does not end within {LIMIT:g} s") from None
    except GONE:  # it had nothing to do for too long, or LLVM ended it
        error, text = _alone(content, architecture, stage)
    if error:
        raise UserError(f"LLVM does not compile it: {error}")
    return str(text)


def _alone(content: str | bytes, architecture: str, stage: str) -> tuple[str, str]:
    """Compile a module in a process of its own; return LLVM's last words, or the result."""
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        file = Path(scratch) / ("module.ll" if isinstance(content, str) else "module.bc")
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        finished = run([sys.executable, "-m", __name__, file, architecture, stage], limit=LIMIT)
    if finished.ok:
        return "", finished.stdout
    said = [line.strip() for line in finished.stderr.splitlines() if line.strip()]
    told = [line for line in said if "error" in line.lower()] or said
    return told[0] if told else "it gives no reason", ""


def _answer(asked: tuple[str | bytes, str, str]) -> tuple[str, str]:
    """Compile a module; return an error message ("" for none) and the result."""
    from gi_cuda.backends.cuda.llvm.pipeline import Stage, compiled

    content, architecture, stage = asked
    try:
        return "", compiled(content, architecture, Stage(stage))
    except (RuntimeError, ValueError) as error:
        return " ".join(str(error).split()), ""


def _main(file: str, architecture: str, stage: str) -> int:
    content = Path(file).read_bytes()
    text = content if file.endswith(".bc") else content.decode()
    error, made = _answer((text, architecture, stage))
    sys.stdout.write(made)
    print(error, file=sys.stderr)
    return 1 if error else 0


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(_main(*sys.argv[1:]))
    serve(_answer, _IDLE)
