"""Verbs as processes of their own, for a server that must outlive whatever becomes of them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_ENDING = 15.0
"""Seconds in which a verb that is ended may tidy up."""

_SAID = 4000
"""Characters of what a verb says that a result has at most, the last ones."""


class Mistake(Exception):
    """A call that cannot be made: what is wrong, in words."""


@dataclass(frozen=True)
class Commands:
    """Runs verbs, one at a time.

    Attributes:
        folders: that may be read and written, absolute.
        longest: seconds after which a verb is ended.
    """

    folders: tuple[Path, ...]
    longest: float
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False, compare=False)

    def path(self, text: str) -> str:
        """A path that a tool was given, absolute; relative ones start at the first folder.

        Raises:
            Mistake: it is outside all folders.
        """
        if "\0" in text or not text:
            raise Mistake(f"{text!r} is no path")
        try:
            found = (self.folders[0] / text).resolve()
        except (OSError, RuntimeError) as error:
            raise Mistake(f"{text!r} leads nowhere: {error}") from None
        if not any(found.is_relative_to(one) for one in self.folders):
            names = ", ".join(map(str, self.folders))
            raise Mistake(f"{text} is outside the folders that this server may touch: {names}")
        return str(found)

    async def run(
        self, verb: str, words: Sequence[object], seconds: float | None = None
    ) -> dict[str, Any]:
        """Run a verb with ``--json``.

        Args:
            words: its arguments and options; paths by :meth:`path`.
            seconds: that it may take; None: as long as any.

        Returns:
            ``result``, what it prints as JSON, where it does; ``exit_status``; ``said``, what it
            says otherwise. ``error`` where it was ended.
        """
        limit = min(self.longest, seconds) if seconds and seconds > 0 else self.longest
        command = [sys.executable, "-m", "gi_cuda", verb, "--json", *map(str, words)]
        async with self._turn:
            with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    cwd=self.folders[0],
                    env=_environment(),
                    start_new_session=True,
                )
                error = ""
                try:
                    await asyncio.wait_for(process.wait(), limit)
                except TimeoutError:
                    error = f"ended after {limit:g} seconds"
                    await _end(process)
                except asyncio.CancelledError:
                    await _end(process)
                    raise
                texts = []
                for file in (out, err):
                    file.seek(0)
                    texts.append(file.read().decode("utf-8", "replace"))
        answer: dict[str, Any] = {"exit_status": process.returncode, "said": texts[1][-_SAID:]}
        with suppress(ValueError):
            answer["result"] = json.loads(texts[0])
        return {**answer, "error": error} if error else answer


def _environment() -> Mapping[str, str]:
    """The server's own, so that the verb is of the same installation."""
    path = os.pathsep.join(one for one in sys.path if one)
    return {**os.environ, "PYTHONPATH": path}


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a verb and all processes that it started."""
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _ENDING)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
