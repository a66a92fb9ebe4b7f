"""Run a source of single precision in double precision.

Its answers tell rounding errors: a rewrite that adds in another order may be nearer to them than
the original. The back end for processors runs the source on the same inputs, with ``float`` defined
as ``double``. That is not possible for sources that look at the bits of a number, hold numbers in
structs or textures, or do not compile with that definition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from gi_cuda.backends.protocol.requests import Record, Recorded
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.variants import BuildFailure
from gi_cuda.backends.table import backends_on_gpus, open_backend
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import as_candidate, build_candidates
from gi_cuda.spec import Target
from gi_cuda.spec.expression import parse
from gi_cuda.spec.numbers import NumberType
from gi_cuda.spec.oracles import Outputs
from gi_cuda.subject import Subject

_SINGLE: Final = np.dtype(np.float32)
_DOUBLE: Final = np.dtype(np.float64)

_VECTORS: Final = "1 2 3 4"
_FUNCTIONS: Final = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc exp exp2"
    " exp10 expm1 fabs fdim floor fma fmax fmin fmod hypot ldexp lgamma log log10 log1p log2 modf"
    " pow rcbrt remainder rint round rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc"
)
_FAST: Final = "cos exp exp10 log log10 log2 pow sin tan"
_ROUNDED: Final = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}

_DATA: Final = """\
import numpy as np
from gi_cuda.spec.modules import load_function
from pathlib import Path

_made = load_function(Path({path!r}), "case", "")


def case(**args):
    return {{name: _double(one) for name, one in _made(**args).items()}}


def _double(one):
    single = isinstance(one, np.ndarray | np.generic) and one.dtype == np.float32
    return one.astype(np.float64) if single else one
"""
"""A data module that gives numbers of double precision for those of another one."""


def in_double_precision(
    subject: Subject, cases: Sequence[str], folder: Path, limit: float
) -> Mapping[str, Outputs]:
    """Run a source in double precision; return its outputs by their names, for each case that the
    back end for processors has too. Nothing where it cannot be told.

    Args:
        folder: for binaries and what they write.
        limit: seconds after which a launch counts as hung.
    """
    (backend, *_) = backends_on_gpus(gpu=False)
    there = {one.name for one in subject.target.cases if backend in one.backends}
    names = tuple(one for one in cases if one in there)
    if not names or subject.compiled or not _is_plain(subject.target):
        return {}
    place = folder / "outputs"
    place.mkdir(parents=True, exist_ok=True)
    doubled = replace(subject, backend=backend, target=_doubled(subject.target, folder))
    with suppress(UserError):
        compiler = open_backend(backend).compiler(doubled, 1)
        one = as_candidate(doubled, f"{_macros()}{subject.reference}", doubled.standard)
        (built,) = build_candidates(compiler, [one], folder)
        session = Session(doubled.target, backend, names, place)
        if not isinstance(built, BuildFailure):
            with Pool[int](session, Crew(1)) as pool:
                answer = pool.ask(Record(one.program(built, names), place, 1, limit))
            if isinstance(answer, Recorded):
                return {name: _outputs(place / f"{name}.npz") for name in names}
    return {}


def _outputs(file: Path) -> Outputs:
    with np.load(file) as found:
        return {name: found[name][0] for name in found.files}


def _is_plain(target: Target) -> bool:
    """Tell whether all numbers of single precision lie in arrays or are passed by value."""
    single = [one for one in target.buffers if one.dtype == _SINGLE]
    mixed = [one for one in target.buffers if one.item or one.addresses or one.type.small]
    return bool(single) and not mixed and not target.textures


def _doubled(target: Target, folder: Path) -> Target:
    """A target with twice as wide numbers, and twice as much dynamic shared memory."""
    data = folder / "data.py"
    data.write_text(_DATA.format(path=str(target.data)), encoding="utf-8")
    wide = NumberType("float64")
    buffers = tuple(
        replace(one, type=wide) if one.dtype == _SINGLE else one for one in target.buffers
    )
    scalars = tuple(
        replace(one, dtype=_DOUBLE) if one.dtype == _SINGLE else one for one in target.scalars
    )
    launches = tuple(
        replace(
            one,
            steps=tuple(
                replace(step, shared=parse(f"2 * ({step.shared.text})")) for step in one.steps
            ),
        )
        for one in target.launches
    )
    return replace(target, data=data, buffers=buffers, scalars=scalars, launches=launches)


def _macros() -> str:
    """Definitions that make the single precision of a source double."""
    names = {f"float{one}": f"double{one}" for one in _VECTORS.split()}
    names |= {f"make_float{one}": f"make_double{one}" for one in _VECTORS.split()}
    names |= {f"{one}f": one for one in _FUNCTIONS.split()}
    names |= {f"__{one}f": one for one in _FAST.split()}
    names |= {"float": "double", "__fsqrt_rn": "sqrt", "__frsqrt_rn": "rsqrt", "__fmaf_rn": "fma"}
    names |= {"__frcp_rn(a)": "(1.0 / (a))", "__fdividef(a, b)": "((a) / (b))"}
    names |= {f"__{name}_rn(a, b)": f"((a) {sign} (b))" for name, sign in _ROUNDED.items()}
    return "".join(f"#define {one} {other}\n" for one, other in names.items()) + "#line 1\n"
