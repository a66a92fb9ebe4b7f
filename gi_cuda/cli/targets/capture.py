"""``gi-cuda capture``: write a target from the launches of a running application."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gi_cuda.backends.compile.caching.code_cache import size_of
from gi_cuda.capture import (
    CASES,
    TIME,
    Application,
    Capture,
    Wish,
    capture,
    known_kernels,
    list_kernels,
    worth_most,
)
from gi_cuda.capture.adding import add
from gi_cuda.capture.launches.uses import chosen, obstacle
from gi_cuda.cli.console import console
from gi_cuda.cli.files import scratch_folder
from gi_cuda.cli.next_steps import command_line, say_next
from gi_cuda.cli.options import CompileCommands, Headers, Macros, read_time
from gi_cuda.init import check_free, from_options, write_folder
from gi_cuda.report.progress import Steps
from gi_cuda.report.tables import print_table, say
from gi_cuda.report.targets.capture import captured_lines, kernels_table

_MOST_CASES = 64


def command(
    application: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="The application, as you type it, behind --."),
    ],
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            "--kernel",
            help="Write a target for this kernel. Several in one file that take turns on the same"
            " memory are one target, others a target each.",
            metavar="NAME",
        ),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--source", help="The file that it is in.", metavar="FILE")
    ] = None,
    launches: Annotated[
        str,
        typer.Option(
            "--launches",
            help="Take the cases from these launches of the kernel, counted from 1; best: those"
            " that take longest, spread over the run.",
            metavar="FIRST..LAST|best",
        ),
    ] = "best",
    cases: Annotated[
        int, typer.Option("--cases", min=1, max=_MOST_CASES, help="Launches that become cases.")
    ] = CASES,
    add_to: Annotated[
        Path | None,
        typer.Option(
            "--add", help="Add launches to this target, as held-out cases.", metavar="TARGET"
        ),
    ] = None,
    into: Annotated[
        Path | None, typer.Option("--into", help="The folder; by default targets/KERNEL.")
    ] = None,
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            min=1,
            max=100,
            help="How often each launch is made and compared, where results are real numbers.",
        ),
    ] = 2,
    limit: Annotated[
        str,
        typer.Option(
            "--limit",
            help="Device memory that is kept at most: two launches may take all of it, others a"
            " quarter.",
            metavar="SIZE",
        ),
    ] = "16G",
    time: Annotated[
        float,
        typer.Option(
            "--time",
            parser=read_time,
            metavar="TIME",
            help="Time after which the application is ended, e.g. 10m: what it launched until then"
            " counts.",
            show_default="1m",
        ),
    ] = TIME,
    include: Headers = None,
    define: Macros = None,
    database: CompileCommands = None,
) -> None:
    """Run an application on a GPU and list its kernels; with --kernel, write a target of what its
    launches got and what they made of it.

    The application runs as it is, and once more until the launches are kept; nothing of it is built
    anew, and its source stays where it is."""
    program = Application(tuple(application), time)
    compilation = from_options(include or (), define or ())
    named = tuple(kernel or ())
    if into is not None:
        check_free(into, "--into")
    wish = Wish(
        compilation, database, source, launches, cases, size_of(limit, "--limit"), repeat, into
    )
    lines: list[str] = []
    found: list[Capture] = []
    with scratch_folder() as scratch, Steps(console) as tell:
        if not named and add_to is None:
            tell("running the application, and listing its kernels")
            uses, lines = list_kernels(program, scratch)
        else:
            tell("listing the kernels of the application, as its last run launched them")
            uses = known_kernels(program, scratch)
        if add_to is not None:
            lines += add(program, uses, add_to, wish, scratch, tell)
        if named:
            wanted = [chosen(uses, name) for name in dict.fromkeys(named)]
            found = capture(program, wanted, wish, scratch, tell)
        for one in found:
            tell(f"writing {one.folder}")
            write_folder(one.folder, one.files)
            lines += captured_lines(one)
    if not named and add_to is None:
        print_table(console, kernels_table(uses))
    for line in lines:
        say(console, line)
    written = [one.folder for one in found] or ([add_to] if add_to else [])
    if written:
        why = "does the kernel give the application's answers, and can its time be told?"
        say_next(command_line("check", written[0], "--backend", "cuda"), why)
    elif first := worth_most(uses, program):
        words = ("capture", "--kernel", first, "--", *application)
        say_next(command_line(*words), "a target of the kernel that takes most time")
    elif uses and (error := obstacle(uses[0])):
        say(console, f"no kernel can be captured: {error.what}\n  {error.hint}")
