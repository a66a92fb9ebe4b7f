"""The command line: one module a verb, whose ``command`` has a parameter for each option."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

import gi_cuda
from gi_cuda.backends import set_one_thread
from gi_cuda.backends.leftovers import own_temporary_folder
from gi_cuda.cli.console import console, state
from gi_cuda.cli.stopping import STATUS, ending_in_time
from gi_cuda.errors import DeviceLost, UserError, WorkerFault, machine_error
from gi_cuda.report.tables import say

_VERBS = (
    "init",
    "convert",
    "mutate",
    "check",
    "try",
    "evolve",
    "resume",
    "show",
    "validate",
    "minimize",
    "interactions",
    "history",
    "explain",
    "compare",
    "report",
    "patch",
    "cache",
    "doctor",
)
"""In the order a user needs them; each is a module of this package."""

_MODULES = {"try": "try_out"}
"""Those of other names, since Python has the verb's own."""


def _plain_flags(params: list[Any]) -> list[Any]:
    """Parameters for the help, flags without a type: some versions of typer say one."""
    for one in params:
        if getattr(one, "is_flag", False):
            one.metavar = ""
    return params


class _Verb(TyperCommand):
    """One verb."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain_flags(super().get_params(ctx))


class _Verbs(TyperGroup):
    """Loads a verb's module when it is asked for, and not those of all others."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain_flags(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        if cmd_name not in _VERBS:
            return None
        verb = _interruptible(import_module)(f"gi_cuda.cli.{_MODULES.get(cmd_name, cmd_name)}")
        alone = typer.Typer(add_completion=False, context_settings=_SETTINGS)
        alone.command(name=cmd_name, cls=_Verb)(_interruptible(_tidy(verb.command)))
        return typer.main.get_command(alone)  # type: ignore[return-value]


_SETTINGS = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="gi-cuda",
    cls=_Verbs,
    help="Improve existing CUDA kernels: evolve their source, verify every variant, emit a patch.",
    no_args_is_help=True,
    add_completion=False,
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
    """The command, with Ctrl-C, SIGTERM and SIGHUP ending it in one message and exit status 130.

    What typer itself makes of Ctrl-C differs from version to version.
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


def _tidy(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, whose temporary files, and those of all that it starts, do not outlive it."""

    @wraps(command)
    def run(*words: Any, **options: Any) -> Any:
        with own_temporary_folder():
            return command(*words, **options)

    return run


def main() -> None:
    """Run the command line; what somebody can mend ends in one message and exit status 2, other
    faults of the machine in exit status 1."""
    set_one_thread()
    with ending_in_time():
        try:
            app()
        except UserError as error:
            _give_up(f"error: {error}", 2)
        except (OSError, MemoryError) as error:
            _give_up(f"error: {machine_error(error)}", 2)
        except sqlite3.Error as error:
            from gi_cuda.store.complaints import complaint  # few verbs load so much

            if (said := complaint(error)) is None:
                raise
            _give_up(f"error: {said}", 2)
        except DeviceLost as error:
            _give_up(str(error), 1)
        except WorkerFault as error:
            _give_up(f"{error}; run again with --debug to see more", 1)
        except KeyboardInterrupt:  # beside a verb's work
            sys.exit(STATUS)


def _give_up(said: str, status: int) -> NoReturn:
    """End with a message, or with the traceback where that is asked for."""
    if state.debug:
        raise
    print(f"gi-cuda: {said}", file=sys.stderr)
    sys.exit(status)
