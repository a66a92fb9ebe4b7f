"""``gi-cuda report``: write one or several runs as a page for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gi_cuda.analyze.stored.whole_run import whole_run
from gi_cuda.cli.console import working
from gi_cuda.cli.files import check_new, say_written, write_new
from gi_cuda.cli.next_steps import command_line, say_next, say_next_after
from gi_cuda.cli.options import Force


def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Each a run's folder.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the page.")] = Path(
        "report.html"
    ),
    force: Force = False,
) -> None:
    """Write a run as one page that needs nothing but a browser: the winner's diff with reasons and
    numbers, the search, every individual, and how to do it again. Of several runs, compare the
    searches."""
    from gi_cuda.report.page.render import page, page_of_several

    check_new(output, force=force)
    different = list({one.resolve(): one for one in runs}.values())
    several = len(different) > 1
    with working("reading " + ", ".join(map(str, different))):
        read = [whole_run(one, **({"drawn": 0} if several else {})) for one in different]
        text = page_of_several(read) if several else page(read[0])
    write_new(output, text, force=force)
    say_written([output])
    lost = [one for one, it in zip(different, read, strict=True) if it.record.winner is None]
    if several and not lost:
        say_next(command_line("compare", *different), "measure their winners side by side")
    else:  # `compare` measures winners
        say_next_after((lost or different)[0])
