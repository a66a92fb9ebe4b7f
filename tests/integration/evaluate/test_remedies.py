"""Targets whose reference fails: place in the message, and a remedy that works."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.reference.baseline import (
    check_against_source,
    compile_reference,
    record_reference,
)
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject
from tests.sweeps import sweep

SCALE = Path(__file__).parents[2] / "targets" / "scale"

Change = Callable[[Path], None]


def in_file(name: str, *pairs: tuple[str, str]) -> Change:
    """Texts of a file for others, everywhere."""

    def change(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new)
        (folder / name).write_text(text, encoding="utf-8")

    return change


def both(*changes: Change) -> Change:
    def change(folder: Path) -> None:
        for one in changes:
            one(folder)

    return change


def target(*pairs: tuple[str, str]) -> Change:
    return in_file("target.toml", *pairs)


def kernel(*pairs: tuple[str, str]) -> Change:
    return in_file("kernel.cu", *pairs)


def data(*pairs: tuple[str, str]) -> Change:
    return in_file("data.py", *pairs)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A way to spoil a target, the words of the message, and the remedy that its user applies."""

    spoil: Change
    said: tuple[str, ...]
    mend: Change


RETURNED = 'return {"in": rng.integers(-1000, 1000, n, dtype=np.int32), "n": n}'
OUT = 'name = "out"\ntype = "int32"\nsize = "n"'
SOME = "if (threadIdx.x < 9) __shfl_sync(~0u, mine, 0); "
MINE = "mine = twice(in[at]);"

MISTAKES = {
    "a buffer too small": Mistake(
        target((OUT, OUT.replace('"n"', '"n - 9"'))),
        ("target.toml:41: the reference failed", "'out'", "give the [[buffer]] out more `size`"),
        target(('"n - 9"', '"n"')),
    ),
    "no element in front": Mistake(
        kernel((MINE, "mine = twice(in[at - 5000]);")),
        ("target.toml:35: the reference failed", "give the [[buffer]] in a `begin`"),
        both(
            target(
                (
                    'name = "in"\ntype = "int32"\nsize = "n"',
                    'name = "in"\ntype = "int32"\nsize = "n + 5000"\nbegin = "5000"',
                )
            ),
            data(("1000, n,", "1000, n + 5000,")),
        ),
    ),
    "no shared memory": Mistake(
        kernel(("__shared__ int tile[BLOCK];", "extern __shared__ int tile[];")),
        ("target.toml:51: the reference failed", "more `shared`, in bytes"),
        target(('block = ["BLOCK"]', 'block = ["BLOCK"]\nshared = "BLOCK * 4"')),
    ),
    "a mask without its callers": Mistake(
        kernel((MINE, "mine = 2 * __shfl_sync(0x1, in[at], 0);")),
        ("kernel.cu:22: the reference failed", 'a table [warps] with masks = "device"'),
        target(("[oracle]", '[warps]\nmasks = "device"\n\n[oracle]')),
    ),
    "a barrier for some": Mistake(
        kernel(("__syncthreads();", SOME + "__syncthreads();")),
        ("kernel.cu: the reference failed", "deadlock", "under a condition that only some"),
        kernel((SOME, "")),
    ),
    "division by zero": Mistake(
        both(kernel((MINE, "mine = 7 / in[at];")), data(("-1000, 1000", "0, 2"))),
        ("kernel.cu: the reference failed", "Let data.py give other scalars and contents"),
        data(("0, 2", "1, 9")),
    ),
    "an assertion": Mistake(
        kernel((MINE, "assert(in[at] > 0); mine = twice(in[at]);")),
        ("kernel.cu: the reference failed", "assert() of the source does not hold"),
        data(("-1000, 1000", "1, 1000")),
    ),
    "contents as indices": Mistake(
        kernel((MINE, "mine = in[in[at] * 1000000];")),
        ("kernel.cu: the reference failed", "smaller numbers in data.py where they are indices"),
        data(("-1000, 1000", "0, 1")),
    ),
    "a block too large": Mistake(
        target(('block = ["BLOCK"]', 'block = ["BLOCK * 32"]')),
        (
            "target.toml:51: the reference failed",
            "a block of 2048 x 1 x 1, and it can be 1 x 1 x 1 to 1024",
            "`BLOCK * 32` with BLOCK = 64: change that",
        ),
        target(("BLOCK * 32", "BLOCK")),
    ),
    "a macro that nobody defines": Mistake(
        kernel((MINE, "mine = FACTOR * in[at];")),
        ("kernel.cu:22: the source does not compile", '{ FACTOR = "VALUE" }'),
        target(('host = ["-O1"]', 'host = ["-O1"]\ndefine = { FACTOR = "2" }')),
    ),
    "a type that is nowhere": Mistake(
        kernel((MINE, "count_type c = 2; mine = c * in[at];")),
        ("kernel.cu:22: the source does not compile", "if a header declares it, include that"),
        both(
            kernel(("__device__ int twice", '#include "counts.h"\n__device__ int twice')),
            lambda folder: (folder / "counts.h").write_text("typedef int count_type;\n") and None,
        ),
    ),
    "PTX that only a GPU knows": Mistake(
        kernel((MINE, 'asm volatile("bar.red.popc.u32 %0, 0, 1;" : "=r"(mine));')),
        ("kernel.cu:22: the host back", "#ifdef GI_HOST ... #else ... #endif"),
        kernel(
            (
                'asm volatile("bar.red.popc.u32 %0, 0, 1;" : "=r"(mine));',
                '\n#ifdef GI_HOST\nmine = in[at];\n#else\nasm volatile("bar.red.popc.u32 %0, 0, 1;"'
                ' : "=r"(mine));\n#endif\n',
            )
        ),
    ),
    "a header of the toolkit": Mistake(
        kernel(("__device__ int twice", "#include <cusparse.h>\n__device__ int twice")),
        ("kernel.cu:9: the host back end has no <cusparse.h>", "#ifdef GI_HOST"),
        kernel(("#include <cusparse.h>", "#ifndef GI_HOST\n#include <cusparse.h>\n#endif")),
    ),
    "an algorithm of Thrust": Mistake(
        kernel(
            ("__device__ int twice", "#include <thrust/sort.h>\n__device__ int twice"),
            (MINE, MINE + " thrust::sort(thrust::seq, &mine, &mine + 1);"),
        ),
        ("kernel.cu:23: the host back end has no thrust::sort", "#ifdef GI_HOST"),
        kernel(
            (
                "thrust::sort(thrust::seq, &mine, &mine + 1);",
                "\n#ifndef GI_HOST\nthrust::sort(thrust::seq, &mine, &mine + 1);\n#endif\n",
            )
        ),
    ),
    "a type that no file declares": Mistake(
        kernel(("const int *in", "items *in")),
        ("'items' was not declared", "if a header declares it, include that"),
        kernel(("items *in", "const int *in")),
    ),
    "a header that is nowhere": Mistake(
        kernel(("__device__ int twice", "#include <own/types.h>\n__device__ int twice")),
        ("kernel.cu:9: the source does not compile", 'without = ["own/types.h"]'),
        target(('host = ["-O1"]', 'host = ["-O1"]\nwithout = ["own/types.h"]')),
    ),
    "a kernel that launches another": Mistake(
        kernel(
            (MINE, MINE + " other<<<1, 1>>>(out);"),
            (
                "__global__ void scale",
                "__global__ void other(int *out) { out[0] = 1; }\n__global__ void scale",
            ),
        ),
        ("kernel.cu:23: scale launches other itself", "launch other from host code"),
        kernel((" other<<<1, 1>>>(out);", "")),
    ),
    "answers that are NaN": Mistake(
        both(
            target(
                ('name = "out"\ntype = "int32"', 'name = "out"\ntype = "float32"'),
                ('role = "output"', 'role = "inout"'),
            ),
            kernel(("int *out", "float *out"), ("out[at] = mine;", "out[at] = sqrtf(mine);")),
            data(("-1000, 1000", "-1000, 0"), ('"n": n', '"out": np.zeros(n, np.float32), "n": n')),
        ),
        ("target.toml:41: the reference's answers in out are NaN", "data in data.py for which"),
        data(("-1000, 0", "1, 1000")),
    ),
    "answers that vary": Mistake(
        kernel((MINE, "mine = (int)(clock64() % 97);")),
        ("target.toml:57: the oracle rejects the reference", "`outside`"),
        target(('kind = "exact"', 'kind = "sigma"\noutside = 0.2')),
    ),
    "answers that vary since threads race": Mistake(
        kernel((MINE, "tile[0] = (int)(clock64() % 997) + threadIdx.x; mine = tile[0];")),
        (
            "target.toml:57: the oracle rejects the reference",
            "its threads race: race of threads of one block in scale on shared memory",
            "mend the source, with a barrier",
        ),
        kernel(("tile[0] = (int)(clock64() % 997) + threadIdx.x; mine = tile[0];", MINE)),
    ),
    "a list in place of a dictionary": Mistake(
        data((RETURNED, "return [n]")),
        ("data.py:6: case 'train'", "by name: {'in': in, 'n': n}"),
        data(("return [n]", RETURNED)),
    ),
    "another type": Mistake(
        data((", dtype=np.int32", "")),
        ("data.py:6: case 'train'", ".astype(numpy.int32)", "target.toml:35"),
        data(("1000, n)", "1000, n).astype(np.int32)")),
    ),
    "another size": Mistake(
        data(("1000, n,", "1000, n - 1,")),
        ("data.py:6: case 'train'", "Return 4000 elements", "target.toml:35"),
        data(("1000, n - 1,", "1000, n,")),
    ),
    "a name too many": Mistake(
        data(('"n": n', '"n": n, "m": n')),
        ("data.py:6: case 'train'", "Leave out what is not"),
        data((', "m": n', "")),
    ),
    "a name too few": Mistake(
        data((', "n": n', "")),
        ("data.py:6: case 'train'", "return 'n' as well"),
        data(("dtype=np.int32)}", 'dtype=np.int32), "n": n}')),
    ),
    "a number too large": Mistake(
        data(('"n": n', '"n": n * 10**7')),
        ("data.py:6: case 'train'", "Return a smaller number"),
        data(("n * 10**7", "n")),
    ),
    "a key that is missing": Mistake(
        target(('role = "output"\n', "")),
        ("target.toml:41: buffer[1].role: the key is missing", 'role = "input", or "inout"'),
        target((OUT, OUT + '\nrole = "output"')),
    ),
}


def records(folder: Path, scratch: Path) -> None:
    """Compile and run the reference, as a check does first."""
    subject = load_subject(folder, "host")
    with open_tools(subject, scratch, workers=1, jobs=1) as tools:
        check_against_source(subject, tools.compiler)
        whole = unmodified(subject)
        (binary,) = compile_reference(subject, tools.compiler, [whole.text], scratch / "built")
        cases = (*tools.train(), *tools.held_out())
        record_reference(subject, tools.pool, whole.program(binary, cases), tools.reference)


@pytest.mark.parametrize("name", sweep(MISTAKES, *[*MISTAKES][::5]))
def test_the_remedy_works(name: str, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    folder = tmp_path / "t"
    shutil.copytree(SCALE, folder)
    mistake.spoil(folder)
    with pytest.raises(UserError) as caught:
        records(folder, tmp_path / "before")
    for words in mistake.said:
        assert words in str(caught.value)
    mistake.mend(folder)
    records(folder, tmp_path / "after")
