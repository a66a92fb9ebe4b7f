"""Headers that a target leaves out, for the headers that include them: empty files in their place.

What the source itself includes is left out of the prelude. A header that stays may include one of
them in turn, and finds an empty file by that name.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

import xxhash

from gi_cuda.backends.compile.cache import cached


def empty_headers(names: Collection[str], folder: Path | None = None) -> Path:
    """A folder in which each of the names is an empty file, to be searched before all others.

    Args:
        names: headers as they are spelled. Absolute ones are not in it.
        folder: where it is kept, by default the user's cache folder.

    Raises:
        UserError: the cache cannot be written.
    """
    plain = sorted(name for name in names if not PurePosixPath(name).is_absolute())
    # Deep enough for a name that climbs.
    climbs = max((name.split("/").count("..") for name in plain), default=0)
    inner = PurePosixPath(*["in"] * climbs)

    def make(fresh: Path) -> None:
        (fresh / inner).mkdir(parents=True)
        for name in plain:
            path = fresh / inner
            for part in PurePosixPath(name).parent.parts:
                path /= part
                path.mkdir(exist_ok=True)
            (path / PurePosixPath(name).name).touch()

    key = xxhash.xxh3_128_hexdigest("\0".join(plain).encode("utf-8", "surrogateescape"))
    return cached(f"without-{key}", make, folder) / inner
