"""Run the Python files of a target: its data module and its oracle."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from gi_cuda.errors import UserError


def load_function(path: Path, name: str, where: str) -> Callable[..., Any]:
    """Return the function `name` of the Python file at `path`.

    The file runs once, and again whenever it has changed. It can import modules from its folder.

    Args:
        path: the Python file.
        name: name of the function.
        where: place in ``target.toml`` that names the file, for messages.

    Raises:
        UserError: the file is missing, does not run, or has no such function.
    """
    try:
        stamp = path.stat().st_mtime_ns
    except OSError:
        raise UserError(
            f"the Python file {path} is not there", where=where, hint="Paths start at the target."
        ) from None
    found = getattr(_module(path, stamp), name, None)
    if not inspect.isroutine(found):
        raise UserError(
            f"{path.name} has no function {name}()",
            where=where,
            hint=f"Define `def {name}(...)` in {path}.",
        )
    return found


def has_function(path: Path, name: str) -> bool:
    """Run the existing Python file at `path` and tell whether it has a function `name`.

    Raises:
        UserError: the file does not run.
    """
    return inspect.isroutine(getattr(_module(path, path.stat().st_mtime_ns), name, None))


def check_call(function: Callable[..., Any], where: str, *args: Any, **kwargs: Any) -> None:
    """Check that `function` accepts the arguments, without calling it.

    Raises:
        UserError: the signature does not accept them.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions written in C have no signature
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        name = function.__name__
        raise UserError(
            f"{name}() cannot be called like this: {error}",
            where=where,
            hint=f"Its signature is {name}{signature}.",
        ) from None


def line_of(error: BaseException, path: Path) -> str:
    """Return ``path:line`` of the innermost frame of `path` in `error`'s traceback."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    return f"{path}:{lines[-1]}" if lines else str(path)


def place_of(function: Callable[..., Any], path: Path) -> str:
    """Return ``path:line`` of the start of a function in `path`."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename != str(path):
        return str(path)
    return f"{path}:{code.co_firstlineno}"


@lru_cache(maxsize=64)
def _module(path: Path, stamp: int) -> ModuleType:
    """Run the file and return its module.

    Args:
        path: the file.
        stamp: modification time of the file; part of the cache key.
    """
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    try:
        # Compiled here rather than imported, so that no cache files appear in the target.
        code = compile(path.read_bytes(), str(path), "exec")
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise UserError(
            f"this is not Python: {getattr(error, 'msg', error)}",
            where=f"{path}:{line}" if line else str(path),
            hint=f"Mend it: `python {path}` must run.",
        ) from None
    try:
        with _importable(path.parent):
            exec(code, module.__dict__)
    except (Exception, SystemExit) as error:
        raise UserError(
            f"running it failed: {type(error).__name__}: {error}",
            where=line_of(error, path),
            hint=f"Mend it: `python {path}` must run.",
        ) from error
    return module


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    before = list(sys.path)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = before
