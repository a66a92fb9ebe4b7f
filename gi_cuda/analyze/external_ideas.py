"""Ask another program for ideas: write a question about a run, and parse the answers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

from gi_cuda.analyze.stored.resources import resources
from gi_cuda.backends import users_environment
from gi_cuda.backends.processes import Process
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.runs.run import Run
from gi_cuda.search.adaptive.ideas import taking
from gi_cuda.subject.idea_files import Answer

PATIENCE = 600.0
"""Default time limit for an answer, seconds."""

BEST = 5
"""Largest number of variants in a question."""


def question(run: Run) -> dict[str, Any]:
    """Collect the facts about a run for a question, as JSON values.

    The keys are described in ``docs/how-to/bring-ideas.md``.
    """
    subject, store = run.subject, run.store
    target, grammar = subject.target, subject.grammar
    (profile,) = resources(run.tools, [candidate(subject, subject.original)])
    best = [
        {
            "genotype": one.genotype,
            **_told(evaluation),
            "patch": subject.diff(subject.read(one.genotype)),
        }
        for one, evaluation in store.best(BEST)
    ]
    return {
        "target": target.name,
        "device": store.get("device"),
        "kernels": list(target.kernels or ()),
        "files": grammar.source.files,
        "parameters": {
            one.name: {"default": one.default, "values": list(one.values)}
            for one in target.parameters
        },
        "profile": {
            "seconds": run.baseline.seconds,
            "noise_floor": run.baseline.floor,
            "resources": dict(profile),
        },
        "best": best,
        "ideas": list(_outcomes(run)),
    }


def _outcomes(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the outcome of each idea as a whole, or "not tried"."""
    subject, evaluations = run.subject, run.store.evaluations()
    for number, idea in enumerate(subject.ideas, 1):
        key = subject.key(taking(subject, subject.original, number))
        ident = run.store.individual_like(key, None)
        tried = None if ident is None else evaluations.get(ident)
        yield {"name": idea.name, **({"outcome": "not tried"} if tried is None else _told(tried))}


def _told(evaluation: Evaluation) -> dict[str, Any]:
    ratio = evaluation.ratio
    return {
        "outcome": str(evaluation.outcome),
        "speed_up": None if ratio is None else 1 / ratio,
        "message": evaluation.message,
    }


def ask(command: str, told: dict[str, Any], limit: float = PATIENCE) -> list[Answer]:
    """Run a program with a question on its stdin, and read the answers from its stdout.

    The output is a patch, or a JSON list of patches and sources. If the program takes too long or
    the user interrupts, the program and its child processes are killed.

    Args:
        command: shell command of the program.
        told: the question.
        limit: time limit, seconds.

    Raises:
        UserError: the program cannot be run, fails or takes too long, or the output is not valid.
    """
    program = Process(
        ["/bin/sh", "-c", command],
        env=users_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        errors="surrogateescape",
    )
    status, text, _ = program.output(json.dumps(told), limit)
    if status is None:
        raise _wrong(command, f"does not answer within {limit:g} s")
    if status:
        raise _wrong(command, f"ends with status {status}")
    return answers(text, command)


def answers(text: str, command: str) -> list[Answer]:
    """Parse the answers in a program's output.

    Args:
        text: the output.
        command: the program, for messages.

    Raises:
        UserError: the output begins like JSON, and is not a list of patches and sources.
    """
    if not text.strip():
        return []
    if text.lstrip()[0] not in "[{":
        return [Answer("answer 1", text)]
    try:
        found = json.loads(text)
    except ValueError as error:
        raise _wrong(command, f"answers with JSON that cannot be read: {error}") from None
    listed = found if isinstance(found, list) else [found]
    return [_answer(one, number, command) for number, one in enumerate(listed, 1)]


def _answer(one: object, number: int, command: str) -> Answer:
    one = {"patch": one} if isinstance(one, str) else one
    if isinstance(one, dict):
        text, name = one.get("patch", one.get("source")), one.get("name", f"answer {number}")
        file = one.get("file", "")
        if isinstance(text, str) and isinstance(name, str) and isinstance(file, str):
            return Answer(name, text, file)
    raise _wrong(command, f"answers with something else than a patch (answer {number})")


def _wrong(command: str, what: str) -> UserError:
    return UserError(
        f"`{command}` {what}",
        where="--ask",
        hint='it must write a patch, or a JSON list such as [{"name": "...", "patch": "..."}]',
    )
