"""Compile variants of a shipped target in one batch, and run them on a case."""

from __future__ import annotations

import faulthandler
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.cuda.backend import nvcc_compiler
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.host.running.device import HostDevice
from gi_cuda.backends.protocol.device import LaunchCrashed, LaunchHung, LaunchRefused
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.programs import CasePlan
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Phenotype, Variant
from gi_cuda.backends.table import open_compiler
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.spec import CaseData, Configuration, buffer_sizes, final_storage, plan
from gi_cuda.subject import Subject

Outputs = dict[str, np.ndarray]
Edited = tuple[Configuration, str]
"""A configuration and a source."""
Built = tuple[Configuration, Binary]

LIMIT = 0.2
"""Seconds of processor time after which a launch has hung; right ones take milliseconds."""


def replaced(source: str, old: str, new: str) -> str:
    """Return the source with the first occurrence of a text replaced."""
    assert old in source, old
    return source.replace(old, new, 1)


def configurations(subject: Subject) -> list[Configuration]:
    """Return the default, then each value of each parameter alone, if the constraints allow it."""
    default = dict(subject.space.default)
    found: list[Configuration] = [default]
    for parameter in subject.space.parameters:
        ones = ({**default, parameter.name: value} for value in parameter.values)
        found += [one for one in ones if one != default and subject.space.allows(one)]
    return found


def _variants(subject: Subject, edited: Sequence[Edited], *options: str) -> list[Variant]:
    return [
        Variant(number, text, subject.macros(one), (*subject.options(one), *options))
        for number, (one, text) in enumerate(edited)
    ]


def built(subject: Subject, edited: Sequence[Edited], folder: Path, *options: str) -> list[Built]:
    """Compile all of them with these options besides the target's; none may fail."""
    found = build_batch(open_compiler(subject, 2), _variants(subject, edited, *options), folder)
    binaries = [found[number] for number in range(len(edited))]
    assert [one for one in binaries if not isinstance(one, Binary)] == []
    good = [one for one in binaries if isinstance(one, Binary)]
    return [(configuration, one) for (configuration, _), one in zip(edited, good, strict=True)]


def phenotypes(subject: Subject, chosen: Sequence[Configuration]) -> int:
    """Return the number of configurations that differ in preprocessed text or options."""
    edited = [(one, subject.reference) for one in chosen]
    found = open_compiler(subject, 2).preprocess(_variants(subject, edited)).values()
    return len({(one.key, one.options) for one in found if isinstance(one, Phenotype)})


def outputs(subject: Subject, chosen: Sequence[Built], case: CaseData) -> list[Outputs | str]:
    """Return the answers of each variant to the case, or the reason why it has none."""
    device = HostDevice(subject.target, {case.name: case}, WorkerSlot(2))
    return [_outputs(subject, device, one, case) for one in chosen]


def _outputs(subject: Subject, device: HostDevice, one: Built, case: CaseData) -> Outputs | str:
    configuration, binary = one
    target = subject.target
    case_plan = CasePlan(
        case.name,
        plan(target, configuration, case.scalars),
        buffer_sizes(target, configuration, case),
        final_storage(target, configuration, case.scalars),
    )
    device.prepare(case_plan)
    try:
        device.run(device.load(binary), case_plan, LIMIT)
    except (LaunchCrashed, LaunchHung, LaunchRefused) as error:
        return str(error)
    if damaged := device.damaged(case_plan):
        return damaged[0]
    return {name: values.copy() for name, values in device.outputs(case_plan).items()}


def penalty_of(
    subject: Subject, case: CaseData, answers: Outputs | str, expected: Outputs
) -> float:
    """Return the oracle's penalty for answers, given the expected ones."""
    if isinstance(answers, str):
        return float("inf")
    oracle = subject.target.oracle
    return oracle.penalty(case.values, answers, oracle.reference([expected]))


def outputs_apart(
    subject: Subject, chosen: Sequence[Built], case: CaseData
) -> Iterator[Outputs | str]:
    """Yield the outputs of each variant, run in a process of its own that may crash."""
    context = multiprocessing.get_context("fork")
    for one in chosen:
        with ProcessPoolExecutor(1, context, faulthandler.disable) as pool:
            try:
                yield from pool.submit(outputs, subject, [one], case).result(timeout=60)
            except BrokenProcessPool:
                yield "crashed"


def compiled_for_the_device(
    folder: Path, chosen: Sequence[Configuration], toolkit: Toolkit, scratch: Path
) -> list[str]:
    """Compile a target's source under configurations with nvcc; return the messages of failures."""
    subject = open_subject(folder, "cuda")
    variants = _variants(subject, [(one, subject.reference) for one in chosen])
    compiler = nvcc_compiler(subject, 2, toolkit, "sm_90")
    found = build_batch(compiler, variants, scratch).values()
    return [one.message for one in found if isinstance(one, BuildFailure)]
