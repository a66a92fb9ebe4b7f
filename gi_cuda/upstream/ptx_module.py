"""Write a winner's PTX as a module: validated, and with the symbol names of the source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gi_cuda.analyze.finalists.winner import ChosenIndividual
from gi_cuda.backends.cuda.backend import open_nvcc
from gi_cuda.backends.cuda.compile.cubin import name_parts
from gi_cuda.backends.cuda.levels import COMPILED_LEVELS
from gi_cuda.backends.cuda.ptx.batch import check_assembles
from gi_cuda.backends.cuda.ptx.names import SymbolNames, pair, without_lines
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import candidate, unmodified
from gi_cuda.evaluate.levels import source_variant
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Validation
from gi_cuda.runs.run import Run
from gi_cuda.subject import Compiled

_POINTER = re.compile(r"^\.global[^\n]*\bgi_(?:kernel|symbol)_\d+ = [^\n]*\n", re.M)
"""PTX of the pointers that gi-cuda adds to a source to find its kernels."""


@dataclass(frozen=True, slots=True)
class PtxModule:
    """A validated PTX module.

    Attributes:
        text: the PTX.
        validation: validation of the module on the held-out cases.
        said: speed-up and remarks for the user, line by line.
    """

    text: str
    validation: Validation
    said: tuple[str, ...]


def ptx_module(run: Run, winner: ChosenIndividual, genotype: Genotype) -> PtxModule:
    """Validate a genotype of a run below source on the held-out cases, and make a module of it.

    Raises:
        UserError: the run evolves source, or the genotype fails.
    """
    subject = run.subject
    if subject.compiled is None:
        raise UserError(
            "this run evolves source, so its patch is one of the source",
            where="--format",
            hint="--format diff or --format mail",
        )
    one = candidate(run.subject, genotype)
    _, measured = run.validate([unmodified(subject), one])
    validation = run.tools.certification.certified(one, measured)
    if not validation.correct:
        raise UserError(
            f"the {subject.front_end.name} fails on the held-out cases: {validation.message}",
            where=f"{winner}: {genotype}",
            hint="choose another with --individual (gi-cuda show lists the best)",
        )
    source = subject.source
    compiler = open_nvcc(source, 1)
    variant = source_variant(source, subject.compiled.base)
    level, gpu = COMPILED_LEVELS[subject.level], compiler.architecture
    unchanged = level.ptx(subject.parsed.text, gpu)
    # None where a source on its own is other code.
    paired = pair(unchanged, level.ptx(level.alone(compiler, variant), gpu))
    names = paired or SymbolNames({})
    text = without_lines(level.ptx(subject.render(genotype, None), gpu))
    alone = names.outward(text)
    if names.inward(alone) != text:
        names, alone = SymbolNames({}), text
    own = bool(names.alone)
    if own:
        alone = _POINTER.sub("", alone)
    head = "".join(
        f"// {line}\n" for line in _head(run, subject.compiled, winner, genotype, validation)
    )
    kernels = COMPILED_LEVELS["ptx"].kernels_in(unchanged, subject.target.kernels)
    head += "".join(
        f"// Kernel {name_parts(symbol)[-1]}: {names.alone.get(symbol, symbol)}\n"
        for symbol in kernels
    )
    text = f"{head}{alone}"
    if wrong := check_assembles(compiler, text, subject.options(genotype.configuration)):
        raise RuntimeError(f"the module does not assemble: {wrong}")
    said = [f"{winner}, PTX: speed-up {validation.overall}"]
    if not own:
        said.append(
            "its names are those of a namespace v0: on its own, nvcc makes other code of the source"
        )
    return PtxModule(text, validation, tuple(said))


def _head(
    run: Run,
    compiled: Compiled,
    winner: ChosenIndividual,
    genotype: Genotype,
    validation: Validation,
) -> Iterator[str]:
    subject = run.subject
    made_of = compiled.source.grammar.source.name
    if compiled.start is not None:
        made_of += f" as {compiled.start.name} changes it"
    yield f"PTX of {made_of}, changed by gi-cuda: {winner} of {run.folder.name}."
    yield f"Speed-up over the source as it is: {validation.overall} on the held-out cases of"
    yield f"{subject.target.name} ({run.store.get('device')})."
    made = "nvcc's PTX" if run.subject.level == "ptx" else f"clang's {subject.front_end.name}"
    yield f"Changes of {made}: {genotype if genotype.edits else 'none'}"
    settings = compiled.base.configuration.settings
    yield f"Configuration: {' '.join(map(str, settings)) or 'the default one'}"
    if launched := subject.launch_values(genotype.configuration):
        yield f"To be launched as for: {launched}"
    if options := subject.options(genotype.configuration):
        yield f"To be assembled with: nvcc {' '.join(options)}"
