"""Commands in separate processes, for a server that has to survive their crashes."""

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
"""Seconds for a terminated command to clean up."""

_SAID = 4000
"""Number of characters of a command's messages in a result; the last ones are kept."""


class Mistake(Exception):
    """A mistake in a call of a tool, described in words."""


@dataclass(frozen=True)
class Commands:
    """A runner of commands, one at a time.

    Attributes:
        folders: absolute paths of the folders that tools may read and write.
        longest: time limit of a command, in seconds.
    """

    folders: tuple[Path, ...]
    longest: float
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False, compare=False)

    def path(self, text: str) -> str:
        """Return the absolute path for a tool's argument; a relative one starts at the first
        folder.

        Raises:
            Mistake: the path is outside all folders.
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
        """Run a command with ``--json``.

        Args:
            words: its arguments and options; paths must come from :meth:`path`.
            seconds: time limit in seconds; None for the server's limit.

        Returns:
            ``result``: the JSON that it printed, if any; ``exit_status``; ``said``: its messages;
                and
            ``error`` if it was terminated.
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
    """Return the server's environment, with its import path, so that the same installation runs."""
    path = os.pathsep.join(one for one in sys.path if one)
    return {**os.environ, "PYTHONPATH": path}


async def _end(process: asyncio.subprocess.Process) -> None:
    """Terminate a command and all processes that it started."""
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _ENDING)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
