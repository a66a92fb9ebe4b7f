"""Batches in shards, one compiler process per core, and errors brought home to their variants.

A shard that does not compile is tried again without the variants its messages name. What no
message names is found by halving the shard. Where shards are compiled in a way that may itself be
at fault, what failed is compiled once more in another way before it is blamed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from gi_cuda.backends.compile.at_work import Turns
from gi_cuda.backends.compile.process import CompilerKilled, Finished
from gi_cuda.backends.job_threads import JobThreads
from gi_cuda.backends.protocol.undefined import undefined
from gi_cuda.backends.protocol.variants import BuildFailure, Phenotype

_ERROR = re.compile(
    r"^v(?P<ident>\d+)/(?P<file>[^\n:(]+)[:(](?P<line>\d+)[):\d]*\s*"
    r"(?:fatal |catastrophic )?error\b[^:\n]*:\s*(?P<message>[^\n]*)",
    re.M,
)
"""How compilers begin a message: ``file:line:column: error:`` or ``file(line): error:``."""

CompileShard = Callable[[Sequence[Phenotype], Path], Finished]
"""Compiles phenotypes into one binary at a path without a suffix; says how that ended."""

BUSY = 0.25
"""Share of the jobs above which a batch has not got the machine for itself: then variants share
what a process costs, which is half of what it costs with one of them."""

PRELUDE = 1 << 18
"""Characters of a prelude for each variant of a shard. nvcc needs a second of processor time for a
prelude of 4.5 million characters, and 0.1 to 0.2 for eight short variants."""

_NUMBERS = count()
"""Of shards. No two of a process have one name: a worker that still has a library loaded is given
that one for every later one of the same path."""

Collected = TypeVar("Collected")
CollectShard = Callable[[Sequence[Phenotype], Path], Sequence[Collected]]
"""What a shard that compiled holds: one binary, or what stands for it, a variant."""


def new_shard(folder: Path) -> Path:
    """A path, without suffix, that no other shard of this process has."""
    return folder / f"shard{next(_NUMBERS)}"


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large shards are.

    Attributes:
        smallest: what a shard costs before its first variant should be little beside so many.
        largest: most variants in one shard.
        first: variants in the very first shard of a large batch, where what is compiled is run at
            once: the next ones grow, so that binaries come soon, and then at any moment. 0 where
            nothing is run before all is compiled.
        ahead: share of a batch for which one shard a job would do that is compiled in one more,
            ahead of the rest, so that there is something to be run meanwhile. None where enough
            is being compiled.
    """

    smallest: int
    largest: int
    first: int = 0
    ahead: float = 0.0

    def behind(self, prelude: int) -> Sizes:
        """Return larger sizes, up to twice as large, for shards that compile a long prelude first.

        Args:
            prelude: its characters.
        """
        smallest = max(self.smallest, min(prelude // PRELUDE, 2 * self.largest))
        return replace(self, smallest=smallest, largest=max(self.largest, smallest))

    def of(self, number: int, jobs: int, busy: int = 0) -> Iterator[int]:
        """The sizes of shards that hold so many variants together.

        One for each job, where that is enough. Otherwise the last ones are small, so that all jobs
        end at about the same time.

        Args:
            busy: how many of the jobs do something else. Where they are many, what a shard costs
                counts as well, and not only when the first is done: then half of the others are
                left to who comes next.
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
    """Cut a batch into shards. Variants with different compiler options never share one.

    The first of a batch are in the first shards, which are dealt out like cards: neighbours are
    alike, and what takes long should not be in one shard.

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
    """The phenotypes in shards of these sizes, one to each in turn while it has room."""
    dealt: list[list[Phenotype]] = [[] for _ in hands]
    rest = iter(phenotypes)
    for turn in range(max(hands)):
        for shard, size in zip(dealt, hands, strict=True):
            if turn < size:
                shard.append(next(rest))
    return dealt


def attribute(stderr: str) -> dict[int, str]:
    """The message about each variant that says best why it failed, the first one as a rule:
    ``kernel.cu:126: message``."""
    found: dict[int, str] = {}
    errors = sorted(_ERROR.findall(stderr), key=lambda error: _is_consequence(error[-1]))
    for ident, name, line, message in errors:
        found.setdefault(int(ident), f"{name}:{line}: {message}")
    return found


def _is_consequence(message: str) -> bool:
    """Whether a message is of what follows from the next: of a type that is not known g++ says at
    first that the function is declared void."""
    return "declared void" in message


def first_error(finished: Finished) -> str:
    """The line of a compiler's output that says best why it failed."""
    if finished.status is None:
        return "the compiler did not end within its limit"
    lines = [line for line in finished.stderr.splitlines() if line.strip()]
    named = [line for line in lines if undefined(line)]
    named += sorted((line for line in lines if "error" in line), key=_is_consequence)
    return (named or lines or [f"the compiler ended with status {finished.status}"])[0]


class _Job(NamedTuple):
    """A shard to be compiled.

    Attributes:
        path: of its files, without suffix.
        last: whether what fails now is to blame.
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
    """Compile a batch in shards; yield each variant's binary or failure as shards end.

    Args:
        phenotypes: the batch.
        folder: where the shards' files go.
        compile_shard, collect: the back end's part.
        sizes: of shards.
        turns: has them begin in turn with those of other builds.
        again: compiles what failed once more. That waits until a process would be idle, so that
            there are few such shards.

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
                # That is the variant's fault only if the compiler has what it needs for another.
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
