"""Check that the oracle notices errors: the reference with a part left out or spoilt must be
wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.protocol.requests import LeaveOut, SpoilOutputs, Spoilt, Unseen
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.evaluate.reference.baseline import compile_reference
from gi_cuda.evaluate.scrutiny.inputs.other_inputs import real_inputs
from gi_cuda.spec import BufferRole, Target
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Blindness:
    """Errors that the oracle does not notice.

    Attributes:
        kernels: kernels without whose launches all outputs are accepted.
        buffers: scratch buffers that kernels share, but whose contents no output depends on.
        inputs: inputs that may be all zero without any output being rejected.
        outputs: errors in outputs that are accepted.
    """

    kernels: tuple[str, ...]
    buffers: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: Spoilt


def look_for_blindness(
    subject: Subject,
    compiler: Compiler,
    pool: Pool[int],
    folder: Path,
    limit: float,
    tell: Callable[[str], None],
) -> Blindness:
    """Break each kernel, each shared scratch buffer, each input and each output, one at a time.

    Each runs in a new process, since an earlier run could have left the outputs in memory.

    Args:
        pool: workers of a session in which the reference's outputs are recorded.
        folder: for the reference's binary.
        limit: seconds after which a launch counts as hung.
        tell: receives a message before each step.
    """
    tell("leaving out each kernel and input, spoiling each output")
    target = subject.target
    (binary,) = compile_reference(subject, compiler, [subject.reference], folder)
    cases = subject.all_cases
    program = unmodified(subject).program(binary, cases)
    # A run that crashes or hangs counts as noticed.
    kernels = [
        name
        for name in _kernels_to_try(target)
        if pool.ask(LeaveOut(program, limit, launches=name)) is False
    ]
    buffers = [
        name
        for name in _buffers_to_try(target)
        if pool.ask(LeaveOut(program, limit, contents=name)) is False
    ]
    inputs = [
        name
        for name in real_inputs(target)
        if pool.ask(LeaveOut(program, limit, input=name)) is False
    ]
    spoilt = pool.ask(SpoilOutputs(cases))
    outputs = spoilt if isinstance(spoilt, Spoilt) else Spoilt()
    return Blindness(tuple(kernels), tuple(buffers), tuple(inputs), outputs)


def _kernels_to_try(target: Target) -> list[str]:
    """Return the launched kernels; none if there is only one.

    Without its only kernel a target does nothing, which the deliberately broken variant tests
    already.
    """
    names = dict.fromkeys(step.kernel for one in target.launches for step in one.steps)
    return list(names) if len(names) > 1 else []


def _buffers_to_try(target: Target) -> list[str]:
    """Return the scratch buffers that several kernels take.

    None if a variable of the source is written: launches in separate parts would not share it.
    """
    if any(one.symbol and one.role is not BufferRole.INPUT for one in target.buffers):
        return []
    taken: dict[str, set[str]] = {}
    for sequence in target.launches:
        for step in sequence.steps:
            for name in target.passed(step):
                taken.setdefault(name, set()).add(step.kernel)
    return [
        one.name
        for one in target.buffers
        if one.role is BufferRole.SCRATCH and len(taken.get(one.name, ())) > 1
    ]


def blind_spots(target: Target, found: Blindness) -> Iterator[Finding]:
    """Yield a finding for each error that the oracle does not notice."""
    for name in found.kernels:
        line = next(s.line for one in target.launches for s in one.steps if s.kernel == name)
        yield Finding(
            f"{target.file}:{line}",
            f"the oracle does not see kernel {name}: without any launch of it all answers pass",
            "is what it writes an output, and does [oracle] judge that? If it is of no use, take"
            " it out of [[launch]]",
        )
    for buffer in target.buffers:
        where = f"{target.file}:{buffer.line}"
        if buffer.name in found.buffers:
            yield Finding(
                where,
                f"no answer depends on what kernels leave in {buffer.name} for others",
                'if it is a result, give it the role "output"',
            )
        if buffer.name in found.inputs:
            yield Finding(
                where,
                f"the oracle accepts all answers with the input {buffer.name} zero everywhere",
                "a variant that leaves it out would be accepted: give it values that matter more,"
                " or narrow the tolerance in [oracle]",
            )
        ways = [one for one in found.outputs.unseen if one.buffer == buffer.name]
        if ways:
            yield Finding(where, _accepted(ways[0]), _ADVICE)
        if value := found.outputs.constant.get(buffer.name):
            yield Finding(
                where,
                f"the reference's answers in {buffer.name} are {value} everywhere on all cases",
                "whatever writes that is right: make cases with answers that differ",
            )
        if counts := found.outputs.undefined.get(buffer.name):
            shown = ", ".join(f"{count} on {case}" for case, count in counts.items())
            yield Finding(
                where,
                f"the reference writes NaN into {buffer.name}: {shown}",
                "any NaN is right there, whatever it stands for: are the cases as they should be?",
            )


_ADVICE = (
    "a variant that skips that work would be accepted: does [oracle] judge this buffer, and is its"
    " tolerance narrow enough?"
)


def _accepted(way: Unseen) -> str:
    if way.share == 1 and way.filling == "far off":
        return f"the oracle does not look at {way.buffer}: values that are far off pass"
    return f"the oracle accepts {way.buffer} with {way.part} values {_as(way.filling)}"


def _as(filling: str) -> str:
    return f"replaced by {filling}" if filling.startswith(("those", "their")) else filling


FEWEST_CASES = 2
"""Number of cases of each role below which a finding is reported."""


def too_few_cases(target: Target, cases: Sequence[Sequence[str]]) -> Iterator[Finding]:
    """Yield a finding for each role with a single case, since a variant may rely on its
    peculiarities.

    Args:
        cases: names of the cases of each role on this back end.
    """
    for names in cases:
        if len(names) < FEWEST_CASES:
            case = next(one for one in target.cases if one.name == names[0])
            yield Finding(
                f"{target.file}:{case.line}",
                f"{case.name} is the only {case.role} case",
                "what holds for it alone may be taken for granted: add one of another size",
            )
