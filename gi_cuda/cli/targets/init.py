"""``gi-cuda init``: write a target folder for a source file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from gi_cuda.backends.compile.pruning.left_out import stand_in
from gi_cuda.backends.table import backends_on_gpus
from gi_cuda.cli.console import console, print_json
from gi_cuda.cli.files import scratch_folder
from gi_cuda.cli.next_steps import command_line, say_next
from gi_cuda.cli.options import CompileCommands, Headers, Json, Macros, cache_unless, cores
from gi_cuda.errors import SOURCES, UserError, no_source
from gi_cuda.init import (
    MARK,
    Proposal,
    check_free,
    copy_example,
    examples,
    files,
    files_of_problem,
    find_source,
    from_database,
    from_options,
    joined,
    unclosed,
    write_folder,
)
from gi_cuda.report.as_json import WrittenTarget
from gi_cuda.report.progress import Steps
from gi_cuda.report.tables import counted, say
from gi_cuda.report.targets.convert import kept_lines
from gi_cuda.trial import ProposalTrials, Wish, no_compiler
from gi_cuda.tune.t1.t1 import read_t1


def command(
    source: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A CUDA source file.")
    ] = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            "--kernel",
            help="The kernel; by default the one with most work. Several: one after the other.",
            metavar="NAME",
        ),
    ] = None,
    host: Annotated[
        list[Path] | None,
        typer.Option("--host", help="A file that launches it.", metavar="FILE"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder; by default targets/KERNEL.")
    ] = None,
    include: Headers = None,
    define: Macros = None,
    database: CompileCommands = None,
    no_trial: Annotated[
        bool, typer.Option("--no-trial", help="Do not run the kernel; write what is proposed.")
    ] = False,
    example: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Instead of a target of your own, a copy of one that comes with gi-cuda:"
            f" {', '.join(examples())}.",
            autocompletion=examples,
        ),
    ] = None,
    t1: Annotated[
        Path | None,
        typer.Option(
            "--t1",
            metavar="SPACE.json",
            help="Instead of a source, a T1 file of Kernel Tuner, BAT or KTT that describes one.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write a target folder for a kernel: its buffers, launch, parameters and random data.

    The kernel runs on the host back end, and what goes wrong there is mended. The source stays
    where it is. What only you can know is marked."""
    beside = {"FILE": source, "--kernel": kernel, "--host": host, "-I": include, "-D": define}
    beside |= {"--compile-commands": database}
    if example is not None:
        _alone("--example", beside | {"--t1": t1})
        _copy(example, output)
        return
    if t1 is not None:
        _alone("--t1", beside)
        _from_t1(t1, output, json)
        return
    if source is None:
        raise UserError(
            "no source file is named",
            where="FILE",
            hint="gi-cuda init FILE.cu makes a target of your kernel; gi-cuda init --example"
            f" {examples()[0]} copies one to look at",
        )
    if source.is_dir() or not source.exists():
        raise no_source(source)
    compilation = from_options(include or (), define or ())
    if database is not None:
        compilation = joined(compilation, from_database(database, source))
    if output is not None:
        check_free(output)
    missing = "" if no_trial else no_compiler()
    named = tuple(kernel or ())
    try:
        built = find_source(source, compilation)
        wish = Wish(built.source, built.compilation, tuple(host or ()))
        if no_trial or missing:
            found = wish.untried(named, missing)
        else:
            with scratch_folder() as scratch, Steps(console) as tell:
                trials = ProposalTrials(scratch, cores(), cache_unless(False), tell)
                found = wish.tried(named, trials)
    except UserError as error:
        if slip := unclosed(source):
            raise slip from None
        if source.suffix in SOURCES or error.where != str(source):
            raise
        hint = "gi-cuda init FILE.cu makes a target of a source"
        raise UserError("not a CUDA source (.cu, .cuh)", where=str(source), hint=hint) from None
    proposal, chosen, tried = found.proposal, found.chosen, found.tried
    folder = output or Path("targets") / proposal.name
    texts = files(proposal, folder)
    write_folder(folder, texts)
    lines = [*built.lines(), *chosen, *report(proposal, folder, texts), *tried]
    for line in lines:
        say(console, line)
    if json:
        kernels = tuple(step.kernel for step in proposal.steps)
        print_json(WrittenTarget(str(folder), kernels, found.passes, tuple(lines)))
    on = f" --backend {backends_on_gpus(gpu=True)[0]}" if proposal.headers.toolkit else ""
    say_next(
        f"{command_line('check', folder)}{on}",
        "is it sound?" if found.passes else "mend that; then check it",
    )


def _alone(option: str, beside: Mapping[str, object]) -> None:
    """Refuse other arguments, which are meaningless with an option."""
    if given := next((name for name, value in beside.items() if value), None):
        raise UserError(
            f"{given} is for a source of your own",
            where=option,
            hint="leave out one of the two",
        )


def _from_t1(described_by: Path, output: Path | None, json: bool) -> None:
    """Write a target from a T1 file."""
    problem = read_t1(described_by)
    folder = output or Path("targets") / problem.name
    texts = files_of_problem(problem, folder, described_by)
    write_folder(folder, texts)
    fixed = [one.name for one in problem.parameters if len(one.values) == 1]
    lines = (
        f"wrote {folder}: {', '.join(texts)}",
        f"kernel {problem.kernel} of {problem.source}",
        f"{counted(len(problem.parameters), 'parameter')} and"
        f" {counted(len(problem.constraints), 'constraint')}",
        *([f"these have one value, or nothing uses them: {', '.join(fixed)}"] if fixed else ()),
        f"to be confirmed: what target.toml marks {MARK}",
    )
    for line in lines:
        say(console, line)
    if json:
        print_json(WrittenTarget(str(folder), (problem.kernel,), False, lines))
    say_next(command_line("check", folder), "is it sound?")


def _copy(example: str, output: Path | None) -> None:
    """Copy an example."""
    folder = output or Path("targets") / example
    files = copy_example(example, folder)
    say(console, f"wrote {folder}: {', '.join(files)}")
    say_next(command_line("check", folder), "is this machine quiet enough?")


def _but(header: str) -> str:
    return " but the types of small floats" if stand_in(header) else ""


def report(proposal: Proposal, folder: Path, texts: dict[str, str]) -> list[str]:
    """Describe the written target, and the places to fill in or confirm."""
    lines = [f"wrote {folder}: {', '.join(texts)}"]
    others = len(proposal.functions) - len(proposal.steps)
    kernels = [step.kernel for step in proposal.steps]
    several = len(kernels) > 1
    reached = (
        f", with {counted(others, 'function')} that {'they reach' if several else 'it reaches'}"
    )
    named = f"kernel{'s' if several else ''} {', '.join(kernels)}"
    lines.append(named + (reached if others else ""))
    if proposal.evolving:
        files = ", ".join(dict.fromkeys(proposal.files.values()))
        lines.append(f"  what evolves stands in {files}")
    lines += kept_lines(proposal.kept)
    for step in proposal.steps:
        place, times = step.launching.place, step.launching.times
        if place is not None and times > 1:
            lines.append(
                f"{place}: the program launches {step.kernel} {times} times in a loop; the target"
                f" times one launch, so a microsecond saved there is {times} in the program"
            )
    origins = proposal.compilation.origins
    lines += [
        f"headers are looked for in {path}: {origins[str(path)]}"
        for path in proposal.compilation.include
        if str(path) in origins
    ]
    lines += [
        f"compiled with -D {name}={value}: {origins[name]}"
        for name, value in proposal.compilation.define.items()
        if name in origins
    ]
    lines += [
        f"left out, since the kernel needs nothing of it{_but(name)}: {name} ({why})"
        for name, why in proposal.headers.without.items()
    ]
    lines += [f"  {b.name}: {b.shown}, {b.role}" for b in proposal.buffers]
    lines += [f"  {s.name}: {s.element.type}" for s in proposal.scalars]
    offered = [one.name for one in proposal.parameters if not one.active]
    if offered:
        lines.append(f"perhaps parameters (commented out in target.toml): {', '.join(offered)}")
    places = [
        f"{name}:{number}"
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        # The first lines of target.toml explain the mark.
        if proposal.mark in line and name != "README.md" and (name != "target.toml" or number > 2)
    ]
    lines.append(f"to be filled in or confirmed ({proposal.mark}): {', '.join(places)}")
    lines += [
        f"the host back end has no <{name}>: this target needs a GPU"
        for name in proposal.headers.toolkit
    ]
    return lines
