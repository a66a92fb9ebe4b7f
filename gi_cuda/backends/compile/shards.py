"""Compile batches in shards, one compiler process per core, and assign errors to variants.

A shard that does not compile is compiled again without the variants that its messages name. If no
message names a variant, the shard is halved. If the way of compiling may be at fault, failed
variants are compiled once more in another way before they are blamed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from gi_cuda.backends.compile.compiler_slots import Turns
from gi_cuda.backends.compile.process import CompilerKilled, Finished
from gi_cuda.backends.job_threads import JobThreads
from gi_cuda.backends.protocol.undefined import undefined
from gi_cuda.backends.protocol.variants import BuildFailure, Phenotype

_ERROR = re.compile(
    r"^v(?P<ident>\d+)/(?P<file>[^\n:(]+)[:(](?P<line>\d+)[):\d]*\s*"
    r"(?:fatal |catastrophic )?error\b[^:\n]*:\s*(?P<message>[^\n]*)",
    re.M,
)
"""Begin of compilers' messages: ``file:line:column: error:`` or ``file(line): error:``."""

CompileShard = Callable[[Sequence[Phenotype], Path], Finished]
"""Function that compiles phenotypes into one binary, at a path without suffix."""

BUSY = 0.25
"""Share of busy jobs above which a batch is taken to share the machine with others.

Then a shard holds several variants, to share the cost of a process, which is half of the cost of
compiling one variant.
"""

PRELUDE = 1 << 18
"""Characters of a prelude that justify one more variant per shard.

nvcc needs a second of processor time for a prelude of 4.5 million characters, and 0.1 to 0.2 s for
eight short variants.
"""

_NUMBERS = count()
"""Numbers of shards.

A process never reuses a path: a worker that still has a library loaded would get that library for a
later one of the same path.
"""

Collected = TypeVar("Collected")
CollectShard = Callable[[Sequence[Phenotype], Path], Sequence[Collected]]
"""Function that returns the results in a compiled shard, one for each variant."""


def new_shard(folder: Path) -> Path:
    """Return a path without suffix that is unique in this process."""
    return folder / f"shard{next(_NUMBERS)}"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Limits on the sizes of shards.

    Attributes:
        smallest: number of variants beside which the cost of starting a shard is small.
        largest: the most variants in one shard.
        first: variants in the first shard of a large batch, if binaries are run as soon as they are
            there. The next shards grow, so that binaries come soon, and then steadily. 0: nothing
            is run before all is compiled.
        ahead: share of a batch that is compiled in separate shards ahead of the rest, so that there
            are binaries to run soon. This applies to batches that need one shard per job only, and
            not if other builds are busy.
    """

    smallest: int
    largest: int
    first: int = 0
    ahead: float = 0.0

    def behind(self, prelude: int) -> Sizes:
        """Return larger sizes, up to twice as large, for shards that compile a long prelude first.

        Args:
            prelude: characters of the prelude.
        """
        smallest = max(self.smallest, min(prelude // PRELUDE, 2 * self.largest))
        return replace(self, smallest=smallest, largest=max(self.largest, smallest))

    def of(self, number: int, jobs: int, busy: int = 0) -> Iterator[int]:
        """Yield the sizes of the shards of a batch.

        There is one shard for each job if that suffices. Otherwise the last shards are small, so
        that all jobs end at about the same time.

        Args:
            number: variants in the batch.
            jobs: shards at a time.
            busy: number of jobs that are busy with something else. If they are many, total
                processor time matters too, so there are fewer shards: half of the free jobs are
                left to the next batch.
        """
        once = min(self.largest, 2 * self.smallest)
        if number <= once * jobs:
            shared = busy > BUSY * jobs
            full = -(-number // min(self.smallest, self.largest))
            shards = min(jobs, max(full, (jobs - busy) // 2)) if shared else jobs
            ahead = 0 if shared else jobs * round(self.ahead * number / jobs)
            for some in (ahead, number - ahead):
                yield from (len(range(i, some, shards)) for i in range(min(some, shards)))
            return
        for shard in range(1, 2 * jobs if self.first else 0):
            if number <= self.largest * jobs // 2:
                break
            size = max(self.first, self.largest * shard // (2 * jobs))
            yield size
            number -= size
        while number > 0:
            size = min(number, self.largest, max(self.smallest, number // jobs))
            yield size
            number -= size


def cut(
    phenotypes: Sequence[Phenotype], jobs: int, sizes: Sizes, busy: int = 0
) -> list[list[Phenotype]]:
    """Divide a batch into shards. Variants with different compiler options never share a shard.

    The first variants of a batch are in the first shards, and neighbours are dealt to different
    shards: they are similar, and slow ones should not be in one shard.

    Args:
        busy: see :meth:`Sizes.of`.
    """
    groups: dict[tuple[str, ...], list[Phenotype]] = {}
    for phenotype in phenotypes:
        groups.setdefault(phenotype.options, []).append(phenotype)
    shards: list[list[Phenotype]] = []
    for group in groups.values():
        share = max(1, round(jobs * len(group) / len(phenotypes)))
        rest, planned = iter(group), sizes.of(len(group), share, busy * share // jobs)
        while hands := list(islice(planned, share)):
            shards += _dealt(list(islice(rest, sum(hands))), hands)
    return shards


def _dealt(phenotypes: Sequence[Phenotype], hands: Sequence[int]) -> list[list[Phenotype]]:
    """Deal phenotypes to shards of the given sizes, one to each in turn while it has room."""
    dealt: list[list[Phenotype]] = [[] for _ in hands]
    rest = iter(phenotypes)
    for turn in range(max(hands)):
        for shard, size in zip(dealt, hands, strict=True):
            if turn < size:
                shard.append(next(rest))
    return dealt


def attribute(stderr: str) -> dict[int, str]:
    """Return the most informative message about each variant, as ``kernel.cu:126: message``.

    As a rule this is the first one.
    """
    found: dict[int, str] = {}
    errors = sorted(_ERROR.findall(stderr), key=lambda error: _is_consequence(error[-1]))
    for ident, name, line, message in errors:
        found.setdefault(int(ident), f"{name}:{line}: {message}")
    return found


def _is_consequence(message: str) -> bool:
    """Tell whether a message is a consequence of the next one.

    For an unknown type, g++ says first that the function is declared void.
    """
    return "declared void" in message


def first_error(finished: Finished) -> str:
    """Return the line of a compiler's output that explains best why it failed."""
    if finished.status is None:
        return "the compiler did not end within its limit"
    lines = [line for line in finished.stderr.splitlines() if line.strip()]
    named = [line for line in lines if undefined(line)]
    named += sorted((line for line in lines if "error" in line), key=_is_consequence)
    return (named or lines or [f"the compiler ended with status {finished.status}"])[0]


class _Job(NamedTuple):
    """A shard to be compiled.

    Attributes:
        path: path of its files, without suffix.
        last: whether variants that fail now have finally failed.
    """

    shard: list[Phenotype]
    path: Path
    last: bool


def build(
    phenotypes: Sequence[Phenotype],
    folder: Path,
    compile_shard: CompileShard,
    collect: CollectShard[Collected],
    *,
    sizes: Sizes,
    turns: Turns,
    again: CompileShard | None = None,
) -> Iterator[Collected | BuildFailure]:
    """Compile a batch in shards. Yield each variant's binary or failure as shards end.

    Args:
        phenotypes: the batch.
        folder: folder for the shards' files.
        compile_shard, collect: the back end's functions.
        sizes: limits on the sizes of shards.
        turns: order in which shards of several builds start.
        again: compiles failed variants once more. They wait until a process would be idle, so that
            few shards are needed.

    Raises:
        CompilerKilled: compilers are killed from outside, whatever they compile.
    """
    if not phenotypes:
        return
    folder.mkdir(parents=True, exist_ok=True)
    jobs = turns.jobs

    def work(job: _Job) -> Finished:
        compile_job = again if again and job.last else compile_shard
        try:
            with turns.one():
                return compile_job(job.shard, job.path)
        except CompilerKilled:
            if len(job.shard) == 1:
                # It is the variant's fault only if the compiler has enough memory for another one.
                other = next((one for one in phenotypes if one not in job.shard), None)
                if other is None:
                    raise
                compile_job([other], new_shard(folder))
            return Finished(1, "", "error: the compiler is killed over this each time")

    # There are never more shards than variants.
    with JobThreads(work, min(jobs, len(phenotypes))) as crew:
        running = 0

        def submit(shards: Sequence[list[Phenotype]], last: bool) -> None:
            nonlocal running
            for shard in shards:
                crew.submit(_Job(shard, new_shard(folder), last))
            running += len(shards)

        submit(cut(phenotypes, jobs, sizes, turns.taken), again is None)
        doubtful: list[Phenotype] = []
        while running or doubtful:
            if doubtful and running < jobs:
                submit(cut(doubtful, 1, Sizes(sizes.largest, sizes.largest)), True)
                doubtful = []
            job, finished = crew.next()
            running -= 1
            if finished.ok:
                yield from collect(job.shard, job.path)
                continue
            failed = attribute(finished.stderr)
            if not failed and len(job.shard) == 1:
                failed = {job.shard[0].ident: first_error(finished)}
            guilty = [p for p in job.shard if p.ident in failed]
            rest = [p for p in job.shard if p.ident not in failed]
            if guilty:
                submit([rest] if rest else [], job.last)
            else:
                middle = len(rest) // 2
                submit([rest[:middle], rest[middle:]], job.last)
            if job.last or finished.status is None:
                yield from (BuildFailure(p.ident, failed[p.ident]) for p in guilty)
            else:
                doubtful += guilty
