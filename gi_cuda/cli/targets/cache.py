"""``gi-cuda cache``: show or empty the cache of compiled code."""

from __future__ import annotations

from typing import Annotated

import typer

from gi_cuda.backends.compile.caching.code_cache import CodeCache, Usage, code_folder, size_limit
from gi_cuda.cli.console import console
from gi_cuda.cli.next_steps import say_next
from gi_cuda.errors import UserError
from gi_cuda.report.tables import counted, say


def command(
    clear: Annotated[bool, typer.Option("--clear", help="Empty it.")] = False,
) -> None:
    """Say what is in the cache of compiled code: where it is, how large, of what use it was."""
    cache = CodeCache(code_folder(), size_limit(), _refuse)
    if clear:
        try:
            cache.clear()
        except OSError as error:
            _refuse(f"the cache of compiled code cannot be emptied: {error.strerror}")
        say(console, f"emptied {cache.folder}")
        return
    usage = cache.usage() if cache.folder.exists() else Usage(0, 0, 0, cache.limit, 0, 0)
    for line in (f"{cache.folder}:", *lines(usage)):
        say(console, line)
    if usage.entries:
        say_next("gi-cuda doctor --cache --clear", "empty it")


def lines(usage: Usage) -> list[str]:
    """Describe the contents of a cache."""
    asked = usage.hits + usage.misses
    share = f" ({usage.hits / asked:.0%})" if asked else ""
    most = f"at most {usage.limit / 2**20:.0f} MiB" if usage.limit else "none: it is switched off"
    return [
        f"{usage.entries} entries, with their code in {counted(usage.files, 'file')}",
        f"{usage.size / 2**20:.1f} MiB of {most}",
        f"{usage.hits} of {asked} variants that were asked for came from it{share}",
    ]


def _refuse(said: str) -> None:
    raise UserError(
        said,
        where=str(code_folder()),
        hint="empty it with `gi-cuda doctor --cache --clear`, or remove it",
    )
