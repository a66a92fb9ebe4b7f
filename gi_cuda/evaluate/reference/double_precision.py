"""Run of a single-precision source in double precision.

Its outputs show rounding errors: a rewrite that adds in another order may be closer to them than
the original. The source runs on the same inputs, with ``double`` instead of ``float``. That does
not work for sources that look at the bits of a number, that hold numbers in structs or textures,
or that then do not compile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from gi_cuda.backends.protocol.requests import Record, Recorded
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.variants import BuildFailure
from gi_cuda.backends.table import open_backend
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
_PAIRS: Final = (
    *(("__fadd_rn", "+"), ("__fsub_rn", "-"), ("__fmul_rn", "*"), ("__fdiv_rn", "/")),
    ("__fdividef", "/"),
)
_WORDS: Final = {
    **{f"float{one}": f"double{one}" for one in _VECTORS.split()},
    **{f"make_float{one}": f"make_double{one}" for one in _VECTORS.split()},
    **{f"{one}f": one for one in _FUNCTIONS.split()},
    **{f"__{one}f": one for one in _FAST.split()},
    **{one: f"gi_double{one}" for one in ("__frcp_rn", *dict(_PAIRS))},
    **{"float": "double", "__fsqrt_rn": "sqrt", "__frsqrt_rn": "rsqrt", "__fmaf_rn": "fma"},
}
_SINGLE_WORD: Final = re.compile(
    rf'"(?:\\.|[^"\\\n])*"|^[ \t]*#[ \t]*include\b.*|\b(?:{"|".join(_WORDS)})\b', re.M
)
_BITS: Final = re.compile(r"\b__(?:float_as_u?int|u?int_as_float)\b")
_HELPER: Final = "static __device__ inline double gi_double{}({}) {{ return {}; }}\n"
_HELPERS: Final = "".join(
    [
        *(_HELPER.format(name, "double a, double b", f"a {sign} b") for name, sign in _PAIRS),
        _HELPER.format("__frcp_rn", "double a", "1.0 / a"),
        "#line 1\n",
    ]
)

_DATA: Final = """\
import numpy as np
from gi_cuda.spec.case_data.modules import load_function
from pathlib import Path

_made = load_function(Path({path!r}), "case", "")


def case(**args):
    return {{name: _double(one) for name, one in _made(**args).items()}}


def _double(one):
    single = isinstance(one, np.ndarray | np.generic) and one.dtype == np.float32
    return one.astype(np.float64) if single else one
"""
"""A data module that converts the single-precision numbers of another one to double precision."""


def in_double_precision(
    subject: Subject, cases: Sequence[str], backend: str, folder: Path, limit: float
) -> Mapping[str, Outputs]:
    """Run a source in double precision; return its outputs by name, for each case.

    Empty if the source cannot run in double precision.

    Args:
        backend: name of the back end; cases that it does not have are left out.
        folder: for binaries and outputs.
        limit: seconds after which a launch counts as hung.
    """
    there = {one.name for one in subject.target.cases if backend in one.backends}
    names = tuple(one for one in cases if one in there)
    bits = _BITS.search(subject.reference)
    if not names or subject.compiled or bits or not _is_plain(subject.target):
        return {}
    place = folder / "outputs"
    place.mkdir(parents=True, exist_ok=True)
    doubled = replace(subject, backend=backend, target=_doubled(subject.target, folder))
    with suppress(UserError):
        compiler = open_backend(backend).compiler(doubled, 1)
        one = as_candidate(doubled, f"{_HELPERS}{_wide(subject.reference)}", doubled.standard)
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
    """Tell whether all single-precision numbers lie in arrays or are passed by value."""
    single = [one for one in target.buffers if one.dtype == _SINGLE]
    mixed = [one for one in target.buffers if one.item or one.addresses or one.type.small]
    return bool(single) and not mixed and not target.textures


def _doubled(target: Target, folder: Path) -> Target:
    """Return a target with numbers of double precision, and twice as much dynamic shared memory."""
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
                replace(
                    step,
                    kernel=_wide(step.kernel),
                    shared=parse(f"2 * ({step.shared.text})"),
                )
                for step in one.steps
            ),
        )
        for one in target.launches
    )
    kernels = tuple(map(_wide, target.kernels))
    return replace(
        target, data=data, buffers=buffers, scalars=scalars, launches=launches, kernels=kernels
    )


def _wide(text: str) -> str:
    """Return a text with ``double`` for ``float``, ``exp`` for ``expf``, and the like."""
    return _SINGLE_WORD.sub(lambda found: _WORDS.get(found[0], found[0]), text)
