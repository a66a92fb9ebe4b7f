"""Loading of a target at a level: source, or compiled code such as PTX."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gi_cuda import BACKENDS
from gi_cuda.backends.cuda.backend import open_nvcc
from gi_cuda.backends.cuda.levels import COMPILED_LEVELS
from gi_cuda.backends.protocol.variants import Variant
from gi_cuda.backends.table import backend_named
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.genome import Genotype
from gi_cuda.grammar import LEVELS, FrontEnd, RuleType, Source, Wanted, front_end
from gi_cuda.subject import Compiled, Start, Subject, load_subject


def open_subject(
    path: Path,
    backend: str,
    level: str = "source",
    *,
    bnf: Path | None = None,
    scope: Path | None = None,
    edits: str = "paper",
    start: Start | None = None,
) -> Subject:
    """Load a target at a level.

    Args:
        path: the target's folder or its ``target.toml``.
        backend: one of :data:`gi_cuda.BACKENDS`; not every one runs every level.
        level: one of :data:`~gi_cuda.grammar.LEVELS`.
        bnf, scope: of the source: a grammar edited by hand, in place of the converted one.
        edits: of the source: a name of :data:`gi_cuda.grammar.EDIT_SETS`.
        start: of a compiled level: the source that is compiled, if not the target's own.

    Raises:
        UserError: whatever is wrong with the target, the source, the grammar files or nvcc.
    """
    language = check_level(level, backend)
    if not language.compiled:
        source = load_subject(path, backend, bnf=bnf, scope=scope, edits=edits)
        source = replace(source, idle=idle_types(backend))
        return source if start is None else source.having(start.ideas)
    if bnf is not None or scope is not None:
        raise UserError(
            f"the grammar of {language.name} cannot be given",
            where="--bnf",
            hint=f"leave --bnf and --scope out with --level {level}",
        )
    if start is None:
        return compiled_subject(load_subject(path, backend), level)
    bnf, scope = map(Path, start.grammar_files) if start.grammar_files else (None, None)
    source = load_subject(path, backend, bnf=bnf, scope=scope, edits=start.edits)
    source = source.having(start.ideas)
    return compiled_subject(source, level, start)


def idle_types(backend: str) -> frozenset[RuleType]:
    """Return the rule types that a search on a back end does not mutate."""
    return frozenset(one for one in RuleType if one in backend_named(backend).idle_types)


def check_source(subject: Subject) -> Subject:
    """Return the subject if it is source, else refuse it.

    Raises:
        UserError: the subject is compiled code.
    """
    if not subject.compiled:
        return subject
    name = subject.front_end.name
    raise UserError(
        f"this run evolves {name}, which has no source-level patch",
        where=str(subject.target.folder),
        hint="gi-cuda patch RUN --format ptx writes its PTX; gi-cuda explain RUN names the source"
        " lines of each change",
    )


def backends_for(language: FrontEnd) -> list[str]:
    """Return the back ends that run a language; all of them run source."""
    return [
        name
        for name in BACKENDS
        if not language.compiled or language.level in backend_named(name).compiled_levels
    ]


def check_level(level: str, backend: str | None = None) -> FrontEnd:
    """Return the front end of a level.

    Raises:
        UserError: there is no such level, or the back end does not run it.
    """
    if level not in LEVELS:
        raise UserError(
            f"there is no level {level!r}", where="--level", hint=f"one of: {', '.join(LEVELS)}"
        )
    found = front_end(level)
    backends = backends_for(found)
    if backend is not None and backend not in backends:
        raise UserError(
            f"the {backend} back end does not run {found.name}",
            where="--level",
            hint=f"add --backend {backends[0]}, or leave --level out",
        )
    return found


def compiled_subject(source: Subject, level: str, start: Start | None = None) -> Subject:
    """Compile a target's source to a level and read the result.

    Args:
        start: the winner of the source that is compiled; None for the unmodified source in the
            default configuration.

    Raises:
        UserError: there is no compiler, the source does not compile, or the start is not a variant
            of it.
    """
    language = front_end(level)
    base = source.original if start is None else source.read(start.genotype)
    reference = _made(source, source.original, level)
    text, wanted = reference if start is None else _made(source, base, level)
    name = Path(source.grammar.source.name).with_suffix(language.suffixes[0]).name
    program = language.read(Source(name, text), wanted)
    fixed = tuple(
        replace(one, values=(value,), default=value)
        for one, value in zip(source.space.parameters, base.configuration.chosen, strict=True)
    )
    space = replace(source.space, parameters=fixed)
    compiled = Compiled(source, base, reference[0], start)
    idle = idle_types(source.backend)
    return Subject(
        source.target, language, program, space, source.backend, level, compiled=compiled, idle=idle
    )


def source_variant(source: Subject, genotype: Genotype) -> Variant:
    """Return a variant of the source for compilation to another level, without loop guards."""
    return candidate(source, genotype).variant(0)


def _made(source: Subject, genotype: Genotype, level: str) -> tuple[str, Wanted]:
    """Compile a variant of the source to a level; return the text and the parts of it to read."""
    row = COMPILED_LEVELS[level]
    text = row.made(open_nvcc(source, 1), source_variant(source, genotype))
    kernels = row.kernels_in(text, source.target.kernels)
    return text, Wanted(kernels, functions=row.own_functions(text))
