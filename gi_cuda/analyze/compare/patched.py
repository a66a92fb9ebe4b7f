"""Patches as candidates: the source as a patch leaves it, launched as its own new defaults say."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.evaluate.candidates import Candidate
from gi_cuda.subject import Subject
from gi_cuda.subject.patches import new_defaults, patched_source


def patched(file: Path, subject: Subject) -> Candidate:
    """A target's source with a patch applied.

    Args:
        file: a diff, or a mail.

    Raises:
        UserError: git does not take it, or it changes nothing in the source's files.
    """
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    after = patched_source(text, subject, str(file))
    genotype = subject.read(" ".join(new_defaults(subject, after)))
    macros = subject.upstream_macros(genotype)
    configuration = genotype.configuration
    text = subject.device_text(after)
    return Candidate(text, configuration, macros, subject.options(configuration))
