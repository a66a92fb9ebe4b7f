"""Exchange validations between machines as files, to compare a genotype on several devices."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from gi_cuda.analyze.validate.acceptance import Acceptance, TriedCandidate
from gi_cuda.errors import UserError
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.store import Store
from gi_cuda.subject import Subject

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """One validation of one genotype on one machine.

    Attributes:
        format: version of the file format.
        target: name of the target.
        target_hash: hash of the target's files.
        backend, device: back end and device of the measurement.
        versions: tools and their versions.
        genotype: genotype in notation.
        noise: speed-up of a copy of the reference on the same machine.
        validation: validation of the genotype on the held-out cases.
    """

    format: int
    target: str
    target_hash: str
    backend: str
    device: str
    versions: dict[str, str]
    genotype: str
    noise: SpeedUp
    validation: Validation


def measured(store: Store, subject: Subject, result: Acceptance, one: TriedCandidate) -> Measured:
    """Make the record of a validation on this machine."""
    return Measured(
        FORMAT,
        subject.target.name,
        store.get("target_hash"),
        subject.backend,
        store.get("device"),
        store.get("versions"),
        one.genotype,
        result.noise,
        one.validation,
    )


def write(one: Measured) -> str:
    """Return a record as the text of a file, which :func:`read` reads."""
    return json.dumps(asdict(one), indent=1) + "\n"


def read(path: Path) -> Measured:
    """Read a validation from another machine.

    Raises:
        UserError: the file cannot be read, or has another format.
    """
    try:
        one = TypeAdapter(Measured).validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except ValidationError:
        raise UserError(
            "not a file of measurements",
            where=str(path),
            hint="gi-cuda validate RUN --export FILE writes one",
        ) from None
    if one.format != FORMAT:
        raise UserError(
            f"the file has format {one.format}, this version reads {FORMAT}", where=str(path)
        )
    return one


def check_same(there: Measured, target_hash: str, genotypes: Sequence[str], path: Path) -> None:
    """Check that a validation from another machine is of the same target and genotype.

    Args:
        there: the validation from the other machine.
        target_hash: hash of the target here.
        genotypes: genotypes that are, or may be, validated here.
        path: file of the validation, for messages.

    Raises:
        UserError: the validation is of another target or genotype.
    """
    if there.target_hash != target_hash:
        raise UserError(
            f"the measurements are of another target: {there.target}, or another version of it",
            where=str(path),
        )
    if there.genotype not in genotypes:
        raise UserError(
            f"the measurements are of another genotype: {there.genotype}",
            where=str(path),
            hint=f"measure there: gi-cuda validate RUN --genotype '{genotypes[0]}' --export FILE",
        )
