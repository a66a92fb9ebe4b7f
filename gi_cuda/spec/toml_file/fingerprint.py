"""Hashes of targets and cases, to detect changes."""

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
from gi_cuda.spec.case_data.cases import CaseData
from gi_cuda.spec.oracles import Python
from gi_cuda.spec.target import Target


def content_hash(target: Target) -> str:
    """Return a 128-bit hash, in hexadecimal, of the target's own files.

    The files are ``target.toml``, the source and its ``headers``, the data module and the oracle's
    modules. The location of the folder and files that these files read do not count. Comments in
    ``target.toml`` and the table ``[application]`` do not count either, because they do not affect
    measurements; ``[application]`` may be written after a run.

    Raises:
        UserError: a file is gone.
    """
    return _hash([_deciding(target, file) for file in _files(target)])


def is_unchanged(target: Target, before: str) -> bool:
    """Tell whether a target is unchanged since its hash was taken.

    Args:
        target: the target.
        before: hash from :func:`content_hash`, or from an earlier version of it that included
            every byte of the files.

    Raises:
        UserError: a file is gone.
    """
    return before in (content_hash(target), _hash([_content(file) for file in _files(target)]))


def _hash(contents: Iterable[bytes]) -> str:
    digest = xxhash.xxh3_128()
    for content in contents:
        # The length prefix makes the encoding of a list of contents unambiguous.
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


def input_hashes(case: CaseData) -> dict[str, str]:
    """Return a hash of each value of a case, in hexadecimal, by name.

    Extras for the oracle are left out unless they are arrays, numbers or texts, because equality of
    other objects is unknown.
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
    """Return the bytes of an array, without a copy if it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def file_hashes(target: Target) -> dict[str, str]:
    """Return a hash of each of the target's own files, in hexadecimal, by path.

    Raises:
        UserError: a file is gone.
    """
    return {
        str(file): xxhash.xxh3_128_hexdigest(_deciding(target, file)) for file in _files(target)
    }


def _deciding(target: Target, file: Path) -> bytes:
    """Return the part of a file that affects measurements; see :func:`content_hash`."""
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
