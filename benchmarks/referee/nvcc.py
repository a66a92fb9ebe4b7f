"""Check that nvcc compiles the corpus: ``python -m benchmarks.referee.nvcc [--kernel K]``.

All rewrites of a kernel are compiled in one call, each in a namespace of its own. Where that fails,
and for those that nvcc is meant to refuse, each is compiled by itself.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.referee.rewrites import CORPUS, Kernel, read_corpus, read_kernel
from gi_cuda.backends.cuda.toolkit import find_toolkit

OPTIONS = ("-arch=sm_90", "-std=c++17", "-w", "-c", "-o", "/dev/null")


def together(texts: Sequence[str]) -> str:
    """Return one source that holds several, each in a namespace, after all includes.

    Example: ``#define N 1`` and ``int a = N;`` become ``namespace source_0 {``, both lines, ``}``
    and ``#undef N``.
    """
    includes: dict[str, None] = {}
    parts = []
    for number, text in enumerate(texts):
        includes |= dict.fromkeys(re.findall(r"^#include .*$", text, re.MULTILINE))
        rest = re.sub(r"^#include .*$", "", text, flags=re.MULTILINE)
        macros = re.findall(r"^#define (\w+)", text, re.MULTILINE)
        undefined = "".join(f"#undef {one}\n" for one in macros)
        parts.append(f"namespace source_{number} {{\n{rest}\n}}\n{undefined}")
    return "\n".join([*includes, *parts])


def complaints(text: str) -> str:
    """Compile a source with nvcc; return its error messages, "" if it succeeds."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source.cu"
        source.write_text(text)
        done = subprocess.run(
            [find_toolkit().nvcc, *OPTIONS, source], capture_output=True, text=True
        )
    return (done.stderr or done.stdout or "nvcc failed") if done.returncode else ""


def faults(kernel: Kernel) -> list[str]:
    """Return a line for each rewrite that compiles although it should not, or fails to compile."""
    compiling = [one for one in kernel.rewrites if one.compiles]
    found = []
    if complaints(together([kernel.text, *(one.text for one in compiling)])):
        for one in compiling:
            if told := complaints(one.text):
                found.append(f"{kernel.name}: {one.name} does not compile: {told[:400]}")
        if not found:
            found.append(f"{kernel.name}: its rewrites compile one by one, but not together")
    for one in kernel.rewrites:
        if not one.compiles and not complaints(one.text):
            found.append(f"{kernel.name}: {one.name} compiles, though it should not")
    return found


def main(words: Sequence[str]) -> int:
    """Check the corpus; return 1 if there are faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", action="append")
    options = parser.parse_args(words)
    kernels = [read_kernel(CORPUS / one) for one in options.kernel or ()] or list(read_corpus())
    found = []
    for kernel in kernels:
        found += (some := faults(kernel))
        print(*some, f"{kernel.name}: {len(kernel.rewrites)} rewrites", sep="\n", flush=True)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
