"""The command line: one module a verb, whose ``command`` has a parameter for each option."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import gi_cuda
from gi_cuda.backends import ONE_THREAD
from gi_cuda.cli.console import console, state
from gi_cuda.errors import UserError, WorkerFault
from gi_cuda.report.tables import say

_VERBS = (
    "init",
    "convert",
    "mutate",
    "check",
    "evolve",
    "resume",
    "show",
    "validate",
    "minimize",
    "interactions",
    "history",
    "explain",
    "compare",
    "patch",
    "cache",
    "doctor",
)
"""Modules of this package, in the order a user needs them."""


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
        verb = import_module(f"gi_cuda.cli.{cmd_name}")
        alone = typer.Typer(add_completion=False, context_settings=_SETTINGS)
        alone.command(name=cmd_name, cls=_Verb)(_interruptible(verb.command))
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


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with Ctrl-C ending it in one message and exit status 130.

    What typer itself makes of Ctrl-C differs from version to version.
    """

    @wraps(command)
    def run(*words: Any, **options: Any) -> None:
        try:
            command(*words, **options)
        except KeyboardInterrupt:
            if state.debug:
                raise
            print("gi-cuda: interrupted", file=sys.stderr)
            raise typer.Exit(130) from None

    return run


def main() -> None:
    """Run the command line; what the user got wrong ends in one message and exit status 2."""
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    try:
        app()
    except UserError as error:
        if state.debug:
            raise
        print(f"gi-cuda: error: {error}", file=sys.stderr)
        sys.exit(2)
    except WorkerFault as error:
        if state.debug:
            raise
        print(f"gi-cuda: {error}; run again with --debug to see more", file=sys.stderr)
        sys.exit(1)
