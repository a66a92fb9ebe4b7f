"""Running the Python files a target brings along: its data module and its oracle."""

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
    """The function `name` of the Python file at `path`.

    The file is run once for each of its versions; what stands beside it can be imported.

    Args:
        where: where the user asked for it, for messages.

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
    """Whether the Python file at `path`, which is there, has a function `name`; the file is run.

    Raises:
        UserError: it does not run.
    """
    return inspect.isroutine(getattr(_module(path, path.stat().st_mtime_ns), name, None))


def check_call(function: Callable[..., Any], where: str, *args: Any, **kwargs: Any) -> None:
    """Make sure that `function` can be called like this, without calling it.

    Raises:
        UserError: its signature does not take these arguments.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions written in C do not tell
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
    """``path:line`` of the innermost frame of `path` in `error`'s traceback."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    return f"{path}:{lines[-1]}" if lines else str(path)


def place_of(function: Callable[..., Any], path: Path) -> str:
    """``path:line`` where a function of `path` begins."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename != str(path):
        return str(path)
    return f"{path}:{code.co_firstlineno}"


@lru_cache(maxsize=64)
def _module(path: Path, stamp: int) -> ModuleType:
    """The module made by running the file; `stamp` tells versions of it apart."""
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
