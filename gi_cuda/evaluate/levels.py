"""Opening a target at the level at which it is to be evolved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gi_cuda.backends.cuda.ptx.batch import kernels_in, own_functions, ptx_of
from gi_cuda.backends.protocol.variants import Variant
from gi_cuda.backends.table import open_nvcc
from gi_cuda.errors import UserError
from gi_cuda.genome import Genotype
from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.ptx import convert_ptx
from gi_cuda.subject.protocol import LEVELS, Evolvable
from gi_cuda.subject.ptx import PtxSubject
from gi_cuda.subject.source import Subject, load_subject
from gi_cuda.subject.start import Start


def load_evolvable(
    path: Path,
    backend: str,
    level: str = "source",
    *,
    bnf: Path | None = None,
    scope: Path | None = None,
    edits: str = "paper",
    start: Start | None = None,
) -> Evolvable:
    """Load a target at a level.

    Args:
        path: the target's folder or its ``target.toml``.
        backend: ``host`` or ``cuda``; PTX runs on ``cuda`` only.
        level: one of :data:`~gi_cuda.subject.protocol.LEVELS`.
        bnf, scope: of the source: a grammar edited by hand, in place of the converted one.
        edits: of the source: a name of :data:`gi_cuda.grammar.EDIT_SETS`.
        start: of PTX: the source that is compiled, if not the target's own.

    Raises:
        UserError: whatever is wrong with the target, the source, the grammar files or nvcc.
    """
    check_level(level, backend)
    if level == "source":
        return load_subject(path, backend, bnf=bnf, scope=scope, edits=edits)
    if bnf is not None or scope is not None:
        raise UserError(
            "the grammar of PTX cannot be given",
            where="--bnf",
            hint="leave --bnf and --scope out with --level ptx",
        )
    if start is None:
        return ptx_subject(load_subject(path, backend))
    bnf, scope = map(Path, start.grammar_files) if start.grammar_files else (None, None)
    return ptx_subject(load_subject(path, backend, bnf=bnf, scope=scope, edits=start.edits), start)


def source_of(evolvable: Evolvable) -> Subject:
    """The same, for those who need it to be a target's source.

    Raises:
        UserError: it is PTX.
    """
    if isinstance(evolvable, Subject):
        return evolvable
    raise UserError(
        "this run evolves PTX, which has no source-level patch",
        where=str(evolvable.target.folder),
        hint="gi-cuda patch RUN --format ptx writes the PTX; gi-cuda explain RUN names the source"
        " lines of each change",
    )


def source_under(evolvable: Evolvable) -> Subject:
    """The source itself, or that which the PTX was compiled from."""
    return evolvable.cuda if isinstance(evolvable, PtxSubject) else source_of(evolvable)


def check_level(level: str, backend: str) -> None:
    """Refuse a level that there is not, or not on a back end."""
    if level not in LEVELS:
        raise UserError(
            f"there is no level {level!r}", where="--level", hint=f"one of: {', '.join(LEVELS)}"
        )
    if level == "ptx" and backend != "cuda":
        raise UserError(
            f"the {backend} back end does not run PTX",
            where="--level",
            hint="add --backend cuda, or leave --level out",
        )


def ptx_subject(cuda: Subject, start: Start | None = None) -> PtxSubject:
    """Compile a target's source to PTX and read that.

    Args:
        cuda: the source.
        start: the winner of it that is compiled; None: the source as it is, in the default
            configuration.

    Raises:
        UserError: there is no nvcc, the source does not compile, or the start is none of its
            variants.
    """
    base = cuda.original if start is None else cuda.read(start.genotype)
    reference = _ptx(cuda, cuda.original)
    ptx = reference if start is None else _ptx(cuda, base)
    name = Path(cuda.grammar.source.name).with_suffix(".ptx").name
    kernels = kernels_in(ptx, cuda.target.kernels)
    grammar = convert_ptx(Source(name, ptx), kernels, own_functions(ptx))
    fixed = tuple(
        replace(one, values=(value,), default=value)
        for one, value in zip(cuda.space.parameters, base.configuration.chosen, strict=True)
    )
    space = replace(cuda.space, parameters=fixed)
    return PtxSubject(cuda, grammar, space, reference, base, start)


def source_variant(cuda: Subject, genotype: Genotype) -> Variant:
    """A variant of the source as it is compiled to PTX: without loop guards."""
    configuration = genotype.configuration
    macros, options = cuda.macros(configuration), cuda.options(configuration)
    return Variant(0, cuda.render(genotype, None), macros, options)


def _ptx(cuda: Subject, genotype: Genotype) -> str:
    return ptx_of(open_nvcc(cuda, 1), source_variant(cuda, genotype))
