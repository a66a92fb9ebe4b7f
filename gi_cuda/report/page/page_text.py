"""Texts, numbers and bars of a run's page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from gi_cuda.analyze.stored.whole_run import ChangeTold, WholeRun
from gi_cuda.analyze.validate.acceptance import TriedCandidate
from gi_cuda.report.page.payload import names_in
from gi_cuda.report.results.explain import facts
from gi_cuda.report.results.minimize import worth_lines
from gi_cuda.report.results.show import seconds
from gi_cuda.report.tables import counted
from gi_cuda.report.targets.untested import untested_words
from gi_cuda.results.evaluation import PROVISIONAL
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.tune.rest import rest_words


@dataclass(frozen=True, slots=True)
class Bar:
    """A speed-up as a bar that begins at 1.

    Attributes:
        name: name of the case.
        speed_up: the speed-up.
        left, width: position and length of the bar, percent of the track.
        low, span: position and length of the interval, percent of the track.
        slower: whether the speed-up is below 1.
    """

    name: str
    speed_up: SpeedUp
    left: float
    width: float
    low: float
    span: float
    slower: bool


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise: position and length on the track in percent, and a description."""

    left: float
    width: float
    words: str


@dataclass(frozen=True, slots=True)
class ToldChange:
    """A change of the winner.

    Attributes:
        number: number of the change, from 1.
        change: the change in notation.
        rules: place and text of each rule that the change names.
        lines: the kind of change, then further facts.
        diff: the change as a diff.
    """

    number: int
    change: str
    rules: tuple[tuple[str, str], ...]
    lines: tuple[str, ...]
    diff: str


@dataclass(frozen=True, slots=True)
class Said:
    """Contents of a run's page.

    Attributes:
        title: the speed-up in a few words.
        cpu: whether the run was measured on a CPU.
        bars, noise: speed-ups on the held-out cases, and the noise.
        trust: sentences about the verification of the winner.
        changes: the winner's changes.
        missing: facts about the changes that are unknown, and commands to find them.
        phases: time by phase: name, seconds, share.
        facts: further facts: name and value.
        commands: commands that repeat the search, verify the winner and write the patch.
        folder: the run's folder, quoted for a shell.
    """

    title: str
    cpu: bool
    bars: tuple[Bar, ...]
    noise: Noise
    trust: tuple[str, ...]
    changes: tuple[ToldChange, ...]
    missing: tuple[str, ...]
    phases: tuple[tuple[str, float, float], ...]
    facts: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    folder: str


def said(run: WholeRun) -> Said:
    """Collect the contents of a run's page."""
    record = run.record
    overall = record.winner.validation.overall if record.winner else None
    bars, noise = _bars(run)
    wall = record.phases.wall
    return Said(
        f"{overall.value:.2f} times as fast" if overall else "nothing faster",
        not record.gpu,
        bars,
        noise,
        tuple(_trust(run)),
        tuple(_told(run, one) for one in run.changes),
        tuple(_missing(run)),
        tuple((name, one, one / wall if wall else 0.0) for name, one in seconds(record.phases)),
        tuple(_facts(run)),
        (*record.commands, *_patch(run)),
        shlex.quote(run.folder),
    )


def _patch(run: WholeRun) -> Iterator[str]:
    if run.record.winner is not None:
        option = "--check" if run.record.level == "source" else "--format ptx"
        yield f"gi-cuda patch {shlex.quote(run.folder)} {option}"


def _bars(run: WholeRun) -> tuple[tuple[Bar, ...], Noise]:
    winner, floor = run.record.winner, run.record.noise_floor
    copy = run.record.acceptance.noise if run.record.acceptance and _tried(run) else None
    low, high = 1 / (1 + floor), 1 / (1 - floor)
    words = f"Noise floor: {floor:.1%}" + (f"; a copy of the reference: {copy}" if copy else "")
    noise = (
        SpeedUp(1.0, min(low, copy.low), max(high, copy.high)) if copy else SpeedUp(1, low, high)
    )
    validation = winner.validation if winner else None
    named = dict(validation.cases or {}) if validation else {}
    if validation and validation.overall and len(named) != 1:
        named = {"all cases": validation.overall} | named
    some = [*named.values(), noise]
    low = min(0.95, *(one.low for one in some))
    high = max(1.05, *(one.high for one in some))
    scale = 100 / (high - low)

    def at(value: float) -> float:
        return round((value - low) * scale, 3)

    def bar(name: str, one: SpeedUp) -> Bar:
        first, last = sorted((1.0, one.value))
        return Bar(
            name, one, at(first), round(at(last) - at(first), 3), at(one.low),
            round(at(one.high) - at(one.low), 3), one.value < 1,
        )  # fmt: skip

    bars = tuple(bar(name, one) for name, one in named.items())
    return bars, Noise(at(noise.low), round(at(noise.high) - at(noise.low), 3), words)


def _tried(run: WholeRun) -> TriedCandidate | None:
    """Return the result of ``validate`` for the winner; None if it was not validated."""
    winner, acceptance = run.record.winner, run.record.acceptance
    tried = acceptance.tried if acceptance else ()
    return next((one for one in tried if winner and one.genotype == winner.genotype), None)


def _trust(run: WholeRun) -> Iterator[str]:
    winner, accepted = run.record.winner, run.record.acceptance
    if winner is None:
        return
    if winner.validation.provisional:
        yield f"{PROVISIONAL.capitalize()}: gi-cuda validate {shlex.quote(run.folder)}"
        return
    cases = ", ".join(winner.validation.cases or {})
    yield (
        f"Its answers are right on the held-out cases ({cases}), which the search never saw:"
        " in fresh processes, without the search's loop guards."
    )
    tried = _tried(run)
    if accepted is None or tried is None:
        yield f"Not yet watched by sanitizers: gi-cuda validate {shlex.quote(run.folder)}"
        return
    yield f"A copy of the reference measured beside it as {accepted.noise}."
    faults = [name for name, found in tried.findings.items() if found]
    if faults:
        yield f"Sanitizers that found fault with it: {', '.join(faults)}."
    elif tried.findings:
        yield f"Sanitizers that found nothing: {', '.join(tried.findings)}."
    else:
        yield "No sanitizer watched it."
    if accepted.application is not None:
        yield from accepted.application.lines()


def _told(run: WholeRun, one: ChangeTold) -> ToldChange:
    if one.explained is not None:
        lines = list(facts(one.explained))
    elif one.worth is not None:
        lines = [one.sentence, *worth_lines(one.worth)]
    else:
        lines = [one.sentence]
    rules = [run.rules[name] for name in names_in(one.change) if name in run.rules]
    named = tuple((place, text) for place, text in rules if place and text)
    return ToldChange(one.number, one.change, named, tuple(lines), _hunks(one.diff))


def _hunks(diff: str) -> str:
    """Return a diff without the header lines for git."""
    lines = diff.splitlines()
    return "\n".join(one for one in lines if not one.startswith(("diff --git ", "index ", "--- ")))


def _missing(run: WholeRun) -> Iterator[str]:
    folder = shlex.quote(run.folder)
    if run.unreadable:
        yield f"Diffs are missing: {run.unreadable}"
        return
    if any(one.worth is None for one in run.changes):
        yield f"What each change is worth is not known: gi-cuda minimize {folder}"
    if any(one.explained is None for one in run.changes):
        yield (
            "Registers before and after, and the cases that reach each place:"
            f" gi-cuda explain {folder}, then this page again."
        )
    if run.interactions is None and len(run.changes) > 1:
        yield f"How they depend on each other: gi-cuda explain {folder} --interactions"


def _facts(run: WholeRun) -> Iterator[tuple[str, str]]:
    record, plan = run.record, run.record.plan
    yield "run", run.folder
    yield "target", record.target
    yield "device", f"{record.device} ({record.backend} back end)"
    yield from record.versions.items()
    if record.commit:
        yield "commit of the source", record.commit
    yield "evolves", f"{record.level}, {record.edits} edits"
    if record.started is not None:
        yield "started from", str(record.started)
    for words in untested_words(record.untested, allowed=plan.untested):
        yield "what no case tests", words
    yield "preset", plan.preset
    yield from ((name.replace("_", " "), str(one)) for name, one in asdict(plan.settings).items())
    yield "seed", str(plan.seed)
    last = record.generations[-1] if record.generations else None
    yield "evaluated", counted(last.evaluations if last else 0, "individual")
    if record.rest is not None:
        yield "rest of the space", rest_words(record.rest)
    yield "reference", f"{record.reference_seconds * 1e3:.3f} ms on the train cases"
    yield from ((f"memory, {name}", str(one)) for name, one in record.near_limit.items())
    yield "noise floor", f"{record.noise_floor:.2%}"
    yield "hash of the target", record.target_hash
    yield "hash of the grammar", record.grammar_hash
