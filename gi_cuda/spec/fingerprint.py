"""Telling whether a target changed since it was last used."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from gi_cuda.errors import UserError
from gi_cuda.spec.cases import CaseData
from gi_cuda.spec.oracles import Python
from gi_cuda.spec.target import Target


def content_hash(target: Target) -> str:
    """A 128-bit hash, in hexadecimal, of the target's own files.

    Those are ``target.toml``, the source and its ``headers``, the data module and the oracle's;
    where the folder lies does not matter. Files that these read in turn do not count. Of
    ``target.toml`` only what decides a measurement does: neither comments nor ``[application]``,
    which judges what a run has found and may be written after it.

    Raises:
        UserError: a file is gone.
    """
    return _hash([_deciding(target, file) for file in _files(target)])


def is_unchanged(target: Target, before: str) -> bool:
    """Whether a target still is as it was when its hash was taken.

    Args:
        before: as :func:`content_hash` gives it, or gave it when each byte counted.

    Raises:
        UserError: a file is gone.
    """
    return before in (content_hash(target), _hash([_content(file) for file in _files(target)]))


def _hash(contents: Iterable[bytes]) -> str:
    digest = xxhash.xxh3_128()
    for content in contents:
        # With the length in front, no two lists of contents give the same bytes.
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


def input_hashes(case: CaseData) -> dict[str, str]:
    """A hash of each value of a case, in hexadecimal, by name.

    Of what comes for the oracle alone, arrays, numbers and texts count: when two objects of another
    type are the same, nobody knows but their author.
    """
    found = {}
    for name, value in case.values.items():
        digest = xxhash.xxh3_128()
        if isinstance(value, np.ndarray):
            digest.update(f"{value.dtype} {value.shape} ".encode())
            digest.update(value.tobytes() if value.dtype.hasobject else _bytes(value))
        elif isinstance(value, np.generic | int | float | str | bytes):
            digest.update(repr(value).encode("utf-8", "surrogateescape"))
        else:
            continue
        found[name] = digest.hexdigest()
    return found


def _bytes(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, not copied where they lie one behind the other."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def file_hashes(target: Target) -> dict[str, str]:
    """A hash of each of the target's own files, in hexadecimal, by its path.

    Raises:
        UserError: a file is gone.
    """
    return {
        str(file): xxhash.xxh3_128_hexdigest(_deciding(target, file)) for file in _files(target)
    }


def _deciding(target: Target, file: Path) -> bytes:
    """What of a file decides what is measured."""
    content = _content(file)
    if file.name != target.file.name or file.parent != target.folder:
        return content
    try:
        tables = tomllib.loads(content.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):  # it is no target any more
        return content
    tables.pop("application", None)
    return json.dumps(tables, sort_keys=True, default=str).encode()


def _files(target: Target) -> list[Path]:
    files = [target.folder / target.file.name, target.source, *target.headers, target.data]
    files += [check.file for check in target.oracle.checks if isinstance(check, Python)]
    return list(dict.fromkeys(files))


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UserError(
            f"a file of the target cannot be read: {error.strerror}", where=str(file)
        ) from None
