"""The command line: one module for each command, whose function ``command`` has a parameter for
each option.
"""

from __future__ import annotations

import gc
import re
import sqlite3
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

import gi_cuda
from gi_cuda.backends import set_one_thread
from gi_cuda.backends.leftovers import own_temporary_folder
from gi_cuda.cli.console import console, state
from gi_cuda.cli.stopping import STATUS, ending_in_time
from gi_cuda.errors import (
    RUN_FILE,
    TARGET_FILE,
    DeviceLost,
    UserError,
    WorkerFault,
    machine_error,
    runs_here,
    targets_here,
)
from gi_cuda.report.tables import say

_VERBS = {
    "Prepare a kernel": {
        "init": "Make a target of a CUDA source file, or copy an example.",
        "capture": "Make a target of what an application launches.",
        "check": "Is the target sound? Its baseline, noise, blind spots.",
    },
    "Judge": {
        "judge": "Is a rewritten kernel right, and is it faster?",
    },
    "Search": {
        "evolve": "Evolve a target; ends with a validated winner.",
        "tune": "Search a target's configurations, or a recorded space.",
        "resume": "Go on with a run that was stopped or killed.",
        "runs": "List runs: how far they are, and their best.",
    },
    "Look at a run": {
        "show": "What a run found: generations, individuals, winner.",
        "explain": "What each change of the winner does, and where it is from.",
        "report": "A run, or several, as one page for a browser.",
        "compare": "Measure winners, patches, machine code side by side.",
    },
    "Hand it over": {
        "minimize": "Leave out of the winner what does not pay.",
        "validate": "Does it hold on unseen inputs, under sanitizers?",
        "patch": "Write the winner as a verified patch or mail.",
    },
    "Advanced": {
        "convert": "Write the source's grammar; say why a line may change.",
        "mutate": "Draw random variants, as diffs or compiled.",
        "repeat": "Evolve with several seeds, and say what the runs found.",
        "try": "Evaluate edits that you have in mind.",
    },
    "This machine": {
        "mcp": "Serve verbs to an agent, as tools (MCP).",
        "doctor": "What is there to compile and run with; the cache.",
    },
}
"""The commands with their one-line help, grouped by purpose and in the order of use; see
:data:`_MODULES`."""

_FORMER = {
    "history": ("explain", "--history"),
    "interactions": ("explain", "--interactions"),
    "cache": ("doctor", "--cache"),
}
"""Former commands that are now an option of another one. Their modules and old names still work."""

_ARGUMENTS = {
    "TARGET": ("target", targets_here),
    "RUN": ("run", runs_here),
    "RUN...": ("run", runs_here),
    "CONTESTANT...": ("contestant", runs_here),
}
"""Arguments by metavar: a noun for messages, and a function that returns a hint with examples."""

_UsageError: type[Any] = typer.BadParameter.__bases__[0]

_MODULES = {
    verb: f"{package}.{verb}"
    for package, verbs in {
        "targets": ("init", "capture", "check", "convert", "mutate", "doctor", "cache"),
        "search": ("evolve", "tune", "resume", "repeat"),
        "results": (
            *("runs", "show", "explain", "history", "interactions", "report", "compare"),
            *("minimize", "validate", "patch"),
        ),
        "referee": ("judge", "mcp"),
    }.items()
    for verb in verbs
} | {"try": "search.try_out"}
"""Module of each command, in this package."""


_WORDS = (("path", "PATH"), ("int", "NUMBER"), ("float", "NUMBER"), ("", "TEXT"))
"""Words for types of options in the help, by the beginning of typer's name of the type."""


def _for_help(params: list[Any]) -> list[Any]:
    """Prepare parameters for the help.

    Types are shown as words, flags without a type. Square brackets are escaped, which rich would
    take for markup.
    """
    for one in params:
        if getattr(one, "is_flag", False):
            one.metavar = ""
        elif one.metavar is None:
            described = getattr(one, "type_descriptor", None)  # older versions use click's types
            shown = described.annotation.__name__ if described else one.type.name
            one.metavar = next(word for begin, word in _WORDS if shown.lower().startswith(begin))
        if one.param_type_name == "argument":
            one.display_type_rich = lambda ctx: None  # its name says what it is
        if text := getattr(one, "help", None):
            one.help = re.sub(r"(?<!\\)\[", r"\\[", text)
    return params


class _Verb(TyperCommand):
    """A command that reports a missing or superfluous target or run in one message."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            error.ctx = ctx  # an option without a value sets no context, so help would not be named
            missing = hasattr(error, "param_type")  # typer may use click's classes or its own
            params = [error.param] if missing else self.params
            what = next((w for one in params if (w := _ARGUMENTS.get(one.metavar or ""))), None)
            if what is None or not (missing or "unexpected extra argument" in error.message):
                raise
            word, here = what
            where = f"{ctx.info_name} {word.upper()}"
            if missing:
                hint = f"type gi-cuda {where}; {here()}"
                raise UserError(f"no {word} is named", where=where, hint=hint) from None
            hint = f"what else it takes: gi-cuda {ctx.info_name} -h"
            raise UserError(f"it takes one {word} at a time", where=where, hint=hint) from None

    def get_params(self, ctx: Any) -> list[Any]:
        return _for_help(super().get_params(ctx))


class _Unloaded(TyperCommand):
    """A command in the list of all commands, whose module is imported only when it runs."""

    def make_context(self, *words: Any, **more: Any) -> Any:
        assert self.name is not None
        name = f"gi_cuda.cli.{_MODULES[self.name]}"
        verb = _interruptible(_loaded)(name)
        alone = typer.Typer(add_completion=False, context_settings=_SETTINGS)
        alone.command(name=self.name, cls=_Verb)(_interruptible(_tidy(verb.command)))
        return typer.main.get_command(alone).make_context(*words, **more)


def _verb_for(path: Path) -> str:
    """Return the command that a path is probably meant for; "" if there is none."""
    if path.suffix in (".cu", ".cuh"):
        return "init"
    kinds = ((path / RUN_FILE, "show"), (path / TARGET_FILE, "evolve"))
    return next((verb for file, verb in kinds if file.is_file()), "")


class _Verbs(TyperGroup):
    """The group of all commands, none of which is imported; ``help VERB`` means ``VERB --help``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        result = super().invoke(ctx)
        if self._hint:  # after the output of the command, and not after an error
            print(self._hint, file=sys.stderr)
        return result

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and (verb := _verb_for(Path(args[0]))):
            hint = f"probably: gi-cuda {verb} {args[0]}"
            raise UserError("a command comes before a file or folder", where=args[0], hint=hint)
        for former, (verb, option) in _FORMER.items():
            if args[:1] == [verb] and option in args:
                args = [former, *(one for one in args[1:] if one != option)]
                break
            if args[:1] == [former]:
                self._hint = f"`gi-cuda {former}` is now: gi-cuda {verb} {option}"
        return super().resolve_command(ctx, args)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._hint = ""
        for panel, verbs in _VERBS.items():
            for name, about in verbs.items():
                self.commands[name] = _Unloaded(
                    name=name, callback=None, help=about, rich_help_panel=panel
                )
        for name in _FORMER:
            self.commands[name] = _Unloaded(name=name, callback=None, hidden=True)

    def get_params(self, ctx: Any) -> list[Any]:
        return _for_help(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


_SETTINGS = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="gi-cuda",
    cls=_Verbs,
    help="Improve existing CUDA kernels: evolve their source, verify every variant, emit a patch.",
    epilog="Begin with: gi-cuda init FILE.cu, or gi-cuda init --example bwt_exact",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
)


def _show_version(asked: bool) -> None:
    if asked:
        say(console, f"gi-cuda {gi_cuda.__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Show it and stop."),
    ] = False,
) -> None:
    """Options before the command."""
    state.debug = debug


def _interruptible(command: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a command so that Ctrl-C, SIGTERM and SIGHUP end it with one message and exit status
    130.

    Typer's own handling of Ctrl-C differs between versions.
    """

    @wraps(command)
    def run(*words: Any, **options: Any) -> Any:
        try:
            return command(*words, **options)
        except KeyboardInterrupt:
            if state.debug:
                raise
            print("gi-cuda: interrupted", file=sys.stderr)
            raise typer.Exit(STATUS) from None

    return run


def _loaded(module: str) -> ModuleType:
    """Import the module of a command without garbage collection.

    Imported objects never become garbage, so they are also excluded from later collections. That
    saves a tenth of the import time.
    """
    gc.disable()
    try:
        return import_module(module)
    finally:
        gc.freeze()
        gc.enable()


def _tidy(command: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a command so that its temporary files are removed when it ends.

    This includes temporary files of the processes that it starts.
    """

    @wraps(command)
    def run(*words: Any, **options: Any) -> Any:
        with own_temporary_folder():
            return command(*words, **options)

    return run


def main() -> None:
    """Run the command line.

    Errors that a user can fix end in one message and exit status 2, other faults of the machine in
    exit status 1.
    """
    set_one_thread()
    with ending_in_time():
        try:
            app()
        except UserError as error:
            _give_up(f"error: {error}", 2)
        except (OSError, MemoryError) as error:
            _give_up(f"error: {machine_error(error)}", 2)
        except sqlite3.Error as error:
            from gi_cuda.store.complaints import complaint  # most commands need not import it

            if (said := complaint(error)) is None:
                raise
            _give_up(f"error: {said}", 2)
        except DeviceLost as error:
            _give_up(str(error), 1)
        except WorkerFault as error:
            _give_up(f"{error}; run again with --debug to see more", 1)
        except KeyboardInterrupt:  # outside the command itself
            sys.exit(STATUS)


def _give_up(said: str, status: int) -> NoReturn:
    """Exit with a message, or with the traceback if ``--debug`` is given."""
    if state.debug:
        raise
    print(f"gi-cuda: {said}", file=sys.stderr)
    sys.exit(status)
