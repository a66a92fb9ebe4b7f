"""The programs behind nvcc (preprocessor, compiler to PTX, assembler) and their command lines.

Called one by one they give the same machine code as nvcc. But the common text of a batch is
preprocessed once instead of once per shard, and known PTX need not be assembled again.
"""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template

from gi_cuda.backends.compile.process import run

LIMIT = 60.0
"""Seconds of wall time in which nvcc has to list its commands."""

_VARIABLE = re.compile(r"^#\$ (\w+)=(.*)$", re.M)
_COMMAND = re.compile(r"^#\$ ((?!\w+=)\S.*)$", re.M)
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "NVVMIR_LIBRARY_DIR", "TOP")
_BETWEEN = re.compile(r"(?:/[^\s]*/)?tmpxft_[0-9a-f]+_[0-9a-f]+-\d+_shard")
"""Names of nvcc's intermediate files, up to their suffix."""
_LEVEL = re.compile(r"-O\d?")


@dataclass(frozen=True, slots=True)
class Stage:
    """One program with its arguments.

    Attributes:
        words: its command line.
        source, result: indices of the words with the paths of input and output.
    """

    words: tuple[str, ...]
    source: int
    result: int

    def command(self, source: Path, result: Path) -> list[str]:
        """Return the command line for other files. Further files are written beside the result."""
        words = [_BETWEEN.sub(lambda _: str(result.with_suffix("")), word) for word in self.words]
        words[self.source], words[self.result] = str(source), str(result)
        return words

    def placed(self, source: Path, result: Path) -> Stage:
        """Return this stage for other files."""
        return replace(self, words=tuple(self.command(source, result)))

    def without(self, *options: str) -> Stage:
        """Return this stage without options that are each followed by an argument."""
        before = ("", *self.words)
        return self._of(
            at
            for at, word in enumerate(self.words)
            if word not in options and before[at] not in options
        )

    def at_any_level(self) -> Stage:
        """Return this stage without optimization level: preprocessors only define a macro by it."""
        return self._of(at for at, one in enumerate(self.words) if not _LEVEL.fullmatch(one))

    def _of(self, kept: Iterable[int]) -> Stage:
        left = list(kept)
        words = tuple(self.words[at] for at in left)
        return Stage(words, left.index(self.source), left.index(self.result))

    def and_also(self, *words: str) -> Stage:
        """Return this stage with more arguments at the end."""
        return replace(self, words=(*self.words, *words))


@dataclass(frozen=True, slots=True)
class Stages:
    """The programs that nvcc runs to make a cubin, and their environment."""

    preprocess: Stage
    compile: Stage
    assemble: Stage
    environment: Mapping[str, str]


def find_stages(nvcc: str, options: Sequence[str]) -> Stages | None:
    """Ask nvcc for the programs that it would run.

    None if these are not one preprocessor, one compiler and one assembler, each working on the
    result of the one before.

    Args:
        nvcc: its path.
        options: all options that affect the code of a source.
    """
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        source, result = Path(scratch) / "shard.cu", Path(scratch) / "shard.cubin"
        source.touch()
        command = [nvcc, *options, "--dryrun", "-cubin", "-o", str(result), str(source)]
        said = run(command, limit=LIMIT)
        return None if not said.ok else _read(said.stderr, str(source), str(result))


def _read(said: str, source: str, result: str) -> Stages | None:
    variables = {name: value.strip() for name, value in _VARIABLE.findall(said)}
    stages = []
    for line in _COMMAND.findall(said):
        stage = _stage(line, variables, source)
        if stage is None:
            return None
        stages.append(stage)
        source = stage.words[stage.result]
    if len(stages) != 3 or source != result:
        return None
    first, second, third = stages
    # Files that nvcc would need for host code.
    second = second.without("--gen_c_file_name", "--stub_file_name", "--gen_device_file_name")
    environment = {name: variables[name] for name in _ENVIRONMENT if name in variables}
    return Stages(first, second, third, environment)


def _stage(line: str, variables: Mapping[str, str], source: str) -> Stage | None:
    try:
        words = shlex.split(Template(line).safe_substitute(variables))
    except ValueError:
        return None
    program = shutil.which(words[0], path=variables.get("PATH"))
    if program is None or words.count(source) < 1 or words.count("-o") != 1:
        return None
    # The source's name may also occur earlier, for messages; the last one counts.
    read = len(words) - 1 - words[::-1].index(source)
    return Stage((program, *words[1:]), read, words.index("-o") + 1)
