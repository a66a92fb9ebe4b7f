"""``gi-cuda check``: measure the baseline of a target, and warn of mistakes in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gi_cuda import AUTO
from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.backends.protocol.requests import Inputs, TellInputs
from gi_cuda.backends.protocol.schedules import excused
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.cli.console import console, print_json
from gi_cuda.cli.files import scratch_folder
from gi_cuda.cli.next_steps import command_line, say_next
from gi_cuda.cli.options import (
    Backend,
    Bnf,
    Devices,
    Jobs,
    Json,
    Level,
    NoCache,
    Scope,
    TargetPath,
    cache_unless,
    chosen_backend,
    cores,
    default_backend,
    devices_of,
)
from gi_cuda.errors import UserError
from gi_cuda.evaluate.checks.answers import compare_answers, other_answers
from gi_cuda.evaluate.checks.blindness import blind_spots, look_for_blindness, too_few_cases
from gi_cuda.evaluate.checks.buffers import hardly_changed, partly_defined, partly_written
from gi_cuda.evaluate.checks.coverage import look_for_unreached, untested
from gi_cuda.evaluate.checks.finding import Finding, refuse
from gi_cuda.evaluate.checks.inputs import layouts_of, never_varied
from gi_cuda.evaluate.checks.orders import one_order
from gi_cuda.evaluate.checks.other_kernels import unseen_kernels
from gi_cuda.evaluate.checks.parameters.effects import idle, inert, read_effects
from gi_cuda.evaluate.checks.parameters.launched import one_sided
from gi_cuda.evaluate.checks.parameters.values import (
    TriedValue,
    affordable,
    evenly,
    try_values,
    values_alone,
    wrong_values,
)
from gi_cuda.evaluate.checks.target_files import (
    Hashes,
    left_to_confirm,
    left_to_fill_in,
    no_tolerance,
    read_files,
    too_long,
    unsteady,
)
from gi_cuda.evaluate.checks.unset_locals import unset_locals
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.reference.baseline import Baseline, establish, try_broken
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import SanitizerFinding
from gi_cuda.report.as_json import CheckedTarget
from gi_cuda.report.progress import Steps
from gi_cuda.report.tables import counted, print_table, say, say_whole
from gi_cuda.report.targets.check import baseline_table, print_warnings, values_table, where_words
from gi_cuda.results.verdict import is_too_noisy
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.spec import Given
from gi_cuda.tune.grid import Grid


def command(
    target: TargetPath,
    backend: Backend = AUTO,
    bnf: Bnf = None,
    scope: Scope = None,
    level: Level = "source",
    devices: Devices = "all",
    jobs: Jobs = 0,
    no_cache: NoCache = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse the target where there is any warning.")
    ] = False,
    json: Json = False,
) -> None:
    """Check that the unmodified kernel passes its own test, that an identical copy shows no
    difference, and that a variant broken on purpose is caught; print the noise floor; run each
    value of each parameter by itself; warn of what the tests would miss."""
    asked, backend = backend, chosen_backend(backend)
    say(console, where_words(backend))
    with scratch_folder() as folder, Steps(console) as tell:
        tell("reading the target and its source")
        subject = open_subject(target, backend, level, bnf=bnf, scope=scope)
        tell("making the cases")
        cache = cache_unless(no_cache)
        with open_tools(
            subject,
            folder,
            workers=1,
            jobs=jobs or cores(),
            cache=cache,
            devices=devices_of(backend, devices),
        ) as tools:
            given, doubts = _refuse_slips(tools, tell)
            baseline = establish(
                subject,
                tools.compiler,
                tools.pool,
                tools.scratch("baseline"),
                tools.reference,
                tell,
            )
            tell("running a variant broken on purpose")
            broken = tools.scratch("broken")
            caught = try_broken(subject, tools.compiler, tools.pool, broken, baseline)
            tried = _tried(tools, baseline, tell)
            blind = _blind(tools, baseline, given, tell)
            races = _races(tools, baseline, tell)
            tell("comparing answers with those that are known")
            compared = compare_answers(subject, tools.pool)
            left_out = tools.backend.left_out
        bandwidth = tools.backend.bandwidth()
    for line in left_out:
        say(console, line)
    print_table(console, baseline_table(baseline, caught, compared, bandwidth))
    if subject.target.domain:
        domain = "; ".join(condition.text for condition in subject.target.domain)
        say(console, f"domain: {domain}. Cases of other sizes are derived inside it alone")
    if subject.space.parameters:
        say(console, _size_words(Grid.of_space(subject.space)))
    everything = values_alone(subject.space.parameters)
    if tried:
        print_table(console, values_table(tried, len(everything)))
    file, parameters = str(subject.target.file), subject.space.parameters
    warnings = [
        *one_order(subject.target, baseline.schedules if baseline.ordered else None, races),
        *wrong_values(file, parameters, tried),
        *doubts,
        *other_answers(subject.target, compared),
        *blind,
        *partly_defined(subject.target, baseline.undefined),
        *partly_written(subject.target, baseline.unwritten),
        *hardly_changed(subject.target, baseline.changed),
        *too_long(subject.target, baseline.seconds),
        *no_tolerance(subject.target),
        *left_to_fill_in(read_files(subject.target)),
    ]
    if json:
        measured = (baseline, caught, tuple(tried), len(everything))
        print_json(CheckedTarget(file, subject.backend, *measured, tuple(warnings)))
    if strict:
        refuse(warnings)
    print_warnings(console, warnings)
    if is_too_noisy(baseline.floor, baseline.verdict):
        raise UserError(
            f"a copy of the reference measures as {baseline.verdict}, with a noise floor of"
            f" {baseline.floor:.1%}: this machine is too noisy to evolve on",
            where=str(subject.target.file),
            hint="stop other work on it, or make the cases larger so that launches take longer",
        )
    if marked := list(left_to_confirm(read_files(subject.target))):
        say(console, f"{counted(len(marked), 'value')} assumed and marked `confirm`:")
        for line in marked:
            say_whole(console, f"  {line}")
    say(console, f"{subject.target.name}: ready to evolve")
    say_next(
        command_line("evolve", target, *_as_checked(asked, level, bnf, scope, devices)), "search"
    )


_COUNTED = 10_000_000
"""Number of combinations of values up to which those that satisfy the constraints are counted."""


def _size_words(grid: Grid) -> str:
    """Describe the number of configurations of a target."""
    most = math.prod(grid.shape)
    if grid.rules and most > _COUNTED:
        return f"at most {most:,} configurations"
    return counted(grid.size, "configuration")


def _as_checked(
    backend: str, level: str, bnf: Path | None, scope: Path | None, devices: str
) -> Iterator[str | Path]:
    """Yield the options with which a search uses the same settings as this check."""
    if backend != default_backend():
        yield from ("--backend", backend)
    if level != "source":
        yield from ("--level", level)
    if bnf is not None:
        yield from ("--bnf", bnf)
    if scope is not None:
        yield from ("--scope", scope)
    if devices != "all":
        yield from ("--devices", devices)


def _refuse_slips(
    tools: Tools, tell: Callable[[str], None]
) -> tuple[Sequence[Given], Sequence[Finding]]:
    """Refuse parameters without an effect, and cases that differ between processes.

    Returns:
        The contents of the cases, and findings that may be harmless.

    Raises:
        UserError: a parameter has no effect, or a case differs between processes.
    """
    target, file = tools.subject.target, str(tools.subject.target.file)
    tell("looking for parameters that change nothing")
    effects = read_effects(tools.subject.source, tools.compiler)
    refuse(inert(file, target.parameters, effects))
    tell("making the cases once more")
    there, elsewhere = _given(tools.pool), _given_elsewhere(tools.session)
    refuse(unsteady(target, _hashes(elsewhere), _hashes(there)))
    return list(there.values()), list(idle(file, target.parameters, effects))


def _hashes(cases: Mapping[str, Given]) -> Hashes:
    return {name: one.hashes for name, one in cases.items()}


def _given(pool: Pool[int]) -> Mapping[str, Given]:
    """Return the contents of the cases that the workers hold."""
    answer = pool.ask(TellInputs())
    if isinstance(answer, Lost):
        raise UserError(f"the worker did not say what the cases hold: {answer.message}")
    assert isinstance(answer, Inputs)
    return answer.given


def _given_elsewhere(session: Session) -> Mapping[str, Given]:
    """Return the contents of the cases from another process.

    It makes the cases in reverse order, which shows random numbers that one case leaves to the
    next.
    """
    with Pool[int](replace(session, cases=session.cases[::-1]), Crew(1)) as pool:
        return _given(pool)


def _blind(
    tools: Tools, baseline: Baseline, given: Sequence[Given], tell: Callable[[str], None]
) -> list[Finding]:
    """Return findings about errors of variants that neither the oracle nor the cases would show."""
    subject, target = tools.subject, tools.subject.target
    compiler, pool, limit = tools.compiler, tools.pool, baseline.limit
    unseen = look_for_blindness(subject, compiler, pool, tools.scratch("blind"), limit, tell)
    unreached = look_for_unreached(subject, compiler, pool, tools.scratch("reached"), tell)
    tell("running the reference with other values in locals that it never sets")
    return [
        *unset_locals(tools.certification.unset_locals),
        *blind_spots(target, unseen),
        *untested(subject, unreached),
        *unseen_kernels(subject.source),
        *never_varied(target, given, layouts_of(subject)),
        *one_sided(subject, given),
        *too_few_cases(target, (tools.train(), tools.held_out())),
    ]


def _races(tools: Tools, baseline: Baseline, tell: Callable[[str], None]) -> list[SanitizerFinding]:
    """Return the races of the reference, if some kernel is right only in some orders of threads."""
    if not baseline.ordered or not excused(baseline.schedules, tools.subject.target.kernels):
        return []
    tell("looking whether its threads race")
    return tools.certification.races.seen_in_reference()


def _tried(tools: Tools, baseline: Baseline, tell: Callable[[str], None]) -> list[TriedValue]:
    """Try each value by itself, or as many values as there is time for."""
    chosen = evenly(values_alone(tools.subject.space.parameters), affordable(baseline.seconds))
    if not chosen:
        return []
    return try_values(
        tools.subject,
        tools.compiler,
        tools.pool,
        tools.scratch("values"),
        chosen,
        Sampling(limit=baseline.limit, schedules=baseline.schedules),
        tell,
    )
