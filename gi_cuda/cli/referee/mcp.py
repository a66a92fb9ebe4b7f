"""``gi-cuda mcp``: offer gi-cuda's commands to agents by the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gi_cuda.cli.options import read_time
from gi_cuda.cli.referee.mcp_tools import Commands
from gi_cuda.errors import UserError

_LONGEST = 600.0


def command(
    folders: Annotated[
        list[Path] | None,
        typer.Option(
            "--folder",
            help="A folder that tools may read and write, with all in it; by default the current"
            " one. May be given several times.",
            metavar="DIR",
        ),
    ] = None,
    longest: Annotated[
        float,
        typer.Option(
            "--time",
            parser=read_time,
            metavar="TIME",
            help="Time after which a call is ended, e.g. 10m.",
            show_default="10m",
        ),
    ] = _LONGEST,
) -> None:
    """Serve init, check, judge, try, show and explain to an agent, on standard input and output.

    Each tool gives the JSON of the verb of its name. Calls run one after the other, so that none
    disturbs the times of another."""
    for folder in folders or ():
        if not folder.is_dir():
            raise UserError(
                "there is no such folder", where=f"--folder {folder}", hint="name one that is there"
            )
    try:
        from gi_cuda.cli.referee.mcp_server import serve
    except ImportError:
        raise UserError(
            "the Python SDK of the Model Context Protocol is not installed",
            where="gi-cuda mcp",
            hint="pip install 'gi-cuda[mcp]'",
        ) from None
    serve(Commands(tuple(one.resolve() for one in folders or [Path.cwd()]), longest))
