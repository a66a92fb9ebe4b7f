"""Import files of other tools as candidates: PTX, cubins, LLVM-IR."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gi_cuda.backends.cuda.backend import open_nvcc
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.imports.imported import KINDS, read_import
from gi_cuda.backends.cuda.imports.interface import Interface, interface
from gi_cuda.backends.protocol.variants import Variant
from gi_cuda.backends.table import backend_named, backends_on_gpus
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import Candidate
from gi_cuda.genome import Genotype
from gi_cuda.spec import Configuration
from gi_cuda.subject import Subject

_WORD = re.compile(
    rf"(?P<file>[^<>]+(?:{'|'.join(map(re.escape, KINDS))}))(?::(?P<values>[^/]*=[^/]*))?", re.S
)


@dataclass(frozen=True, slots=True)
class Import:
    """A file, and the configuration that it is launched with.

    Attributes:
        file: path; the suffix is one of :data:`~gi_cuda.backends.cuda.imports.imported.KINDS`.
        values: values of parameters in notation; "" for the default configuration.
    """

    file: Path
    values: str

    @property
    def kind(self) -> str:
        """Kind of code in the file, in words."""
        return KINDS[self.file.suffix]


def as_import(word: str) -> Import | None:
    """Parse ``fast.ptx`` or ``fast.ptx:BLOCK=128,UNROLL=2``; return None for other words."""
    match = _WORD.fullmatch(word)
    if match is None:
        return None
    return Import(Path(match["file"]), (match["values"] or "").replace(",", " "))


@dataclass(frozen=True)
class Importer:
    """A factory of candidates from files, for one target.

    Attributes:
        subject: subject of the target.
        folder: folder for binaries, which must exist as long as the candidates.
    """

    subject: Subject
    folder: Path
    _interfaces: dict[Configuration, Interface] = field(default_factory=dict)

    @cached_property
    def _compiler(self) -> NvccCompiler:
        return open_nvcc(self.subject, 1)

    def candidate(self, one: Import) -> tuple[Candidate, Genotype]:
        """Make a candidate of a file, and return it with its configuration as a genotype.

        Raises:
            UserError: the file cannot replace the target's kernels; see
                :func:`gi_cuda.backends.cuda.imports.imported.read_import`.
        """
        if not backend_named(self.subject.backend).compiled_levels:
            raise UserError(
                f"the {self.subject.backend} back end does not run code of a GPU",
                where=str(one.file),
                hint=f"add --backend {backends_on_gpus(gpu=True)[0]}, or leave the file out",
            )
        genotype = self.subject.read(one.values) if one.values else self.subject.original
        if genotype.edits:
            raise UserError(
                "a file takes values of parameters and no edits", where=f"{one.file}:{one.values}"
            )
        configuration = genotype.configuration
        binary = read_import(
            one.file,
            self._compiler,
            self.subject.options(configuration),
            self._needed(configuration),
            self.folder,
        )
        return Candidate("", configuration, {}, binary=binary), genotype

    def _needed(self, configuration: Configuration) -> Interface:
        """Return the interface (kernels and variables) of the source under a configuration."""
        if configuration not in self._interfaces:
            subject = self.subject
            macros, options = subject.macros(configuration), subject.options(configuration)
            variant = Variant(0, subject.reference, macros, options)
            try:
                self._interfaces[configuration] = interface(self._compiler, variant)
            except UserError as error:
                where = error.where or str(subject.target.source)
                raise UserError(error.what, where=where, hint=error.hint) from None
        return self._interfaces[configuration]
