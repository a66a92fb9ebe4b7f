"""Check that the labels of the corpus are true, without gi-cuda.

``python -m benchmarks.referee.truth [--kernel K] [--only NAME] [--jobs N]`` compiles each file with
the small emulation in ``emulator/`` and runs it as its own host code launches it, on several sizes
and kinds of data, with the threads of a block in different orders. A right rewrite must give the
original's answers in all runs. A wrong one must not, unless ``unseen`` says why runs cannot show
it.

``[truth]`` in ``rewrites.toml`` has a ``function`` of the host code, its ``arguments``, such as
``"x: float32[rows * cols]"`` or ``"y: float32[rows] = out"`` or a name out of ``sizes``, and the
``sizes``. ``special = true`` adds data with NaN and infinities, ``cancel = true`` data whose sums
nearly vanish, ``text = true`` bytes like those of a text.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.referee.rewrites import CORPUS, Kernel, Rewrite, read_corpus, read_kernel

EMULATOR = Path(__file__).parent / "emulator"

COMPILE = (
    *("g++", "-std=c++17", "-O1", "-w", "-fPIC", "-U_FORTIFY_SOURCE"),
    *("-ftrivial-auto-var-init=pattern", "-Dmain=user_main"),
)
"""Compile commands; uninitialized locals get a pattern, which is not right by chance."""

MARGIN = 64
"""Elements before and behind each buffer that nothing may change."""

LARGE = 40_000
"""Elements of all buffers from which on fewer kinds of data are tried."""

LIMIT = 120
"""Seconds for all runs of a rewrite."""

LAUNCH = re.compile(r"(\w+(?:<[^<>;]*>)?)<<<(.*?)>>>\((.*?)\);", re.DOTALL)

ARGUMENT = re.compile(r"(\w+): (\w+)\[(.*)\](?: = (.*))?")


def launches_called(text: str) -> str:
    """Return a source with calls of ``truth::launch`` for ``kernel<<<...>>>(...)``."""

    def called(found: re.Match[str]) -> str:
        kernel, launch, arguments = found.groups()
        grid, block, shared = [*_parted(launch), "0"][:3]
        return f"truth::launch({grid}, {block}, {shared}, [&] {{ {kernel}({arguments}); }});"

    text = re.sub(
        r"extern __shared__ ([\w ]+?) (\w+)\[\];", r"\1 *\2 = (\1 *)truth::dynamic;", text
    )
    return LAUNCH.sub(called, text)


def _parted(text: str) -> list[str]:
    """Split a text at commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def precompile(folder: Path) -> None:
    """Put the emulation's headers into a folder, precompiled."""
    shutil.copytree(EMULATOR, folder, dirs_exist_ok=True)
    header = folder / "cuda_runtime.h"
    subprocess.run([*COMPILE, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)


def build(text: str, function: str, path: Path) -> str:
    """Compile a source to a shared library; return the compiler's complaint, "" if it has none."""
    text = launches_called(text) + f'\nextern "C" void *truth_function = (void *)&{function};\n'
    path.with_suffix(".cpp").write_text(text)
    templates = ["-DTRUTH_TEMPLATES"] if re.search(r"^template", text, re.MULTILINE) else []
    headers = path.parent if (path.parent / "cuda_runtime.h").exists() else EMULATOR
    where = [f"-I{headers}", "-include", "cuda_runtime.h", "-shared", "-o", path]
    command = [*COMPILE, *templates, *where, path.with_suffix(".cpp")]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


@dataclass(frozen=True, slots=True)
class Input:
    """One launch's data: sizes and scalars by name, kind of data, order of threads.

    Attributes:
        fill: byte that output buffers are filled with.
    """

    sizes: Mapping[str, float]
    data: str
    order: int
    fill: int
    seed: int


def inputs(truth: Mapping[str, Any]) -> Iterator[Input]:
    """Yield all launches of a kernel; large sizes have fewer kinds of data."""
    kinds = ["unit", "negative", "normal", "thousands", "tiny", "repeated", "large"]
    kinds += ["special"] * truth.get("special", False)
    kinds += ["cancel", "huge"] * truth.get("cancel", False)
    kinds += ["text"] * truth.get("text", False)
    seed = 0
    for sizes in truth["sizes"]:
        elements = sum(_elements(one, sizes) for one in truth["arguments"])
        few = [*kinds[:1], kinds[5], *kinds[7:]] if elements > LARGE else kinds
        for data in few:
            seed += 1
            yield Input(sizes, data, seed % 3, (0, 0xA5)[seed % 2], seed)


def _elements(argument: str, sizes: Mapping[str, float]) -> int:
    found = ARGUMENT.fullmatch(argument)
    return eval(found[3], {}, dict(sizes)) if found else 0


def made(kind: str, dtype: str, size: int, what: str, given: Input) -> npt.NDArray[Any]:
    """Return the data of a buffer.

    Args:
        kind: kind of data, see :func:`inputs`.
        what: the part after ``=`` in ``NAME: TYPE[SIZE] = WHAT``; "" for any data.
    """
    rng = np.random.default_rng([given.seed, size])
    if what == "out":
        return np.full(size * np.dtype(dtype).itemsize, given.fill, np.uint8).view(dtype)
    if what.startswith("offsets("):
        total = int(given.sizes[what[8:-1]])
        inner = np.sort(rng.integers(0, total + 1, size - 2))
        return np.array([0, *inner, total], dtype)
    if what.startswith("below("):
        return rng.integers(0, int(given.sizes[what[6:-1]]), size).astype(dtype)
    if what == "few":
        return rng.choice([0, 0, 0, 0, 1, 2, -1], size).astype(dtype)
    if what == "positive":
        return rng.uniform(0.1, 1.1, size).astype(dtype) * (1 if kind != "tiny" else 0.01)
    if np.issubdtype(dtype, np.integer):
        top = min(np.iinfo(dtype).max, 2**32 - 1)
        letters = np.frombuffer(b"  \t\nAZaz@[`{Qq09\x00\xff  the CUDA", np.uint8)
        integers = {
            "repeated": lambda: np.full(size, min(top, 200)),
            "tiny": lambda: rng.integers(0, 4, size),
            "text": lambda: rng.choice(letters, size),
            "large": lambda: rng.integers(top - 3, top, size, endpoint=True),
        }
        return integers.get(kind, lambda: rng.integers(0, top, size, endpoint=True))().astype(dtype)
    return _floats(kind, size, rng).astype(dtype)


def _floats(kind: str, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    normal = rng.normal(0, 3, size)
    if kind == "negative":
        return -rng.random(size)
    if kind == "normal":
        return normal
    if kind == "thousands":
        return -1000 * rng.random(size) - 1000
    if kind == "large":
        return 300 + rng.random(size)
    if kind == "tiny":
        return 1e-4 * normal
    if kind == "repeated":
        return np.round(normal)
    if kind == "huge":
        return 1e25 * normal
    if kind == "cancel":
        half = rng.choice([1e8, 3e7], size // 2)
        whole = np.concatenate([half, -half, normal[: size % 2]])
        return rng.permutation(whole) + normal
    values = rng.random(size)
    if kind == "special":
        some = rng.integers(0, size, 1 + size // 50) if size else []
        values[some] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], len(some))
    return values


def answers(library: ctypes.CDLL, truth: Mapping[str, Any], given: Input) -> list[Any] | str:
    """Run a function once; return its buffers, or a message on a fault such as an overrun."""
    buffers, values = [], []
    for argument in truth["arguments"]:
        if (found := ARGUMENT.fullmatch(argument)) is None:
            value = given.sizes[argument]
            real = isinstance(value, float)
            values.append(ctypes.c_float(value) if real else ctypes.c_int(int(value)))
            continue
        dtype, what = found[2], found[4] or ""
        size = _elements(argument, given.sizes)
        data = made(given.data, dtype, size, "" if what == "inout" else what, given)
        margin = np.full(MARGIN * data.itemsize, 0x7F, np.uint8)
        whole = np.concatenate([margin, data.view(np.uint8), margin])
        whole = _aligned(whole)
        buffers.append((dtype, whole, what))
        values.append(ctypes.c_void_p(whole.ctypes.data + len(margin)))
    library.truth_begin(given.order)
    ctypes.CFUNCTYPE(None)(ctypes.c_void_p.in_dll(library, "truth_function").value)(*values)
    if status := library.truth_end():
        return ["", "a barrier is not reached by all", "shared memory is overrun"][min(status, 2)]
    results = []
    for dtype, whole, what in buffers:
        margin = MARGIN * np.dtype(dtype).itemsize
        if (whole[:margin] != 0x7F).any() or (whole[len(whole) - margin :] != 0x7F).any():
            return "a buffer is overrun"
        if what in ("out", "inout"):
            results.append(whole[margin : len(whole) - margin].view(dtype).copy())
    return results


def _aligned(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    room = np.empty(len(data) + 256, np.uint8)
    at = -room.ctypes.data % 256
    room[at : at + len(data)] = data
    return room[at : at + len(data)]


def differ(expected: npt.NDArray[Any], found: npt.NDArray[Any]) -> bool:
    """Tell whether answers differ by more than another order of sums explains."""
    if not np.issubdtype(expected.dtype, np.floating):
        return bool((expected != found).any())
    exact = expected.dtype == np.float16
    wide, other = expected.astype(np.float64), found.astype(np.float64)
    finite = np.abs(wide[np.isfinite(wide)])
    scale = 0 if exact else 3e-5 * finite.max(initial=0)
    return not np.allclose(other, wide, rtol=0 if exact else 1e-4, atol=scale, equal_nan=True)


def compared(original: Path, rewritten: Path, truth: Mapping[str, Any]) -> str:
    """Run two libraries on all inputs; return where they first differ, or "" if nowhere."""
    first, second = ctypes.CDLL(str(original)), ctypes.CDLL(str(rewritten))
    for given in inputs(truth):
        where = f"{dict(given.sizes)}, {given.data} data, order {given.order}"
        expected, found = answers(first, truth, given), answers(second, truth, given)
        if isinstance(expected, str):
            return f"the original: {expected}: {where}"
        if isinstance(found, str):
            return f"{found}: {where}"
        if any(map(differ, expected, found)):
            return f"other answers: {where}"
    return ""


def check(kernel: Kernel, rewrite: Rewrite, folder: Path) -> str:
    """Return a message if a rewrite is not as the corpus says; "" if it is."""
    path = folder / f"{rewrite.name}.so"
    if not rewrite.compiles:
        return ""
    if complaint := build(rewrite.text, kernel.truth["function"], path):
        return f"does not compile: {complaint[:600]}"
    command = [sys.executable, "-m", "benchmarks.referee.truth", "--run"]
    libraries = [folder / "original.so", path]
    try:
        run = subprocess.run(
            [*command, *map(str, libraries), json.dumps(dict(kernel.truth))],
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        found = run.stdout.strip() if run.returncode == 0 else f"crashes: {run.stderr[-300:]}"
    except subprocess.TimeoutExpired:
        found = "takes too long"
    if found and (rewrite.right or rewrite.unseen):
        return f"{'is wrong' if rewrite.right else 'is seen to be wrong'}: {found}"
    if not found and not rewrite.right and not rewrite.unseen:
        return "gives the original's answers everywhere"
    return ""


def main(words: Sequence[str]) -> int:
    """Check the corpus; return 1 if a rewrite is not as the corpus says."""
    if words[:1] == ["--run"]:
        print(compared(Path(words[1]), Path(words[2]), json.loads(words[3])))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--only", action="append")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(words)
    kernels = [read_kernel(CORPUS / one) for one in options.kernel or ()] or list(read_corpus())
    bad = 0
    for kernel in kernels:
        wanted = [one for one in kernel.rewrites if not options.only or one.name in options.only]
        with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
            folder = Path(scratch)
            precompile(folder)
            original = folder / "original.so"
            if complaint := build(kernel.text, kernel.truth["function"], original):
                print(f"{kernel.name}: {complaint}")
                return 1
            found = pool.map(check, [kernel] * len(wanted), wanted, [folder] * len(wanted))
            for rewrite, fault in zip(wanted, found, strict=True):
                if fault:
                    bad += 1
                    side = "right" if rewrite.right else "wrong"
                    print(f"{kernel.name}: {rewrite.name} ({side}): {fault}", flush=True)
        print(f"{kernel.name}: {len(wanted)} rewrites checked", flush=True)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
