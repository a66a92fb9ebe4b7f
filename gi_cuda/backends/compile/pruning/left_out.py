"""Stand-ins for headers that a target leaves out.

The prelude does not include these headers. A header that stays may include one of them; it finds a
file by that name that is empty, or has only the declarations that device code may use.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path, PurePosixPath

import xxhash

from gi_cuda.backends.compile.caching.cache import cached

_BLAS = re.compile(r"cu(?:blas|solver)\w*\.h")
_TORCH = re.compile(r"(?:torch|ATen|c10)/.*")
_FLOATS = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
_TORCH_FLOATS = (
    "namespace c10 { using Half = __half; using BFloat16 = __nv_bfloat16; }\n"
    "namespace at { using c10::Half; using c10::BFloat16; }\n"
)


def stand_in(name: str) -> str:
    """Return the text that replaces a header.

    For some libraries these are includes of CUDA's small floats, with the library's names for them.

    Args:
        name: the header as it is spelled.
    """
    if _TORCH.fullmatch(name):
        return _FLOATS + _TORCH_FLOATS
    return _FLOATS if _BLAS.fullmatch(name) else ""


def stand_ins(names: Collection[str], folder: Path | None = None) -> Path:
    """Return a folder with a stand-in for each header, to be searched before other folders.

    Args:
        names: headers as they are spelled. Absolute paths are ignored.
        folder: where to keep the folder, by default the user's cache folder.

    Raises:
        UserError: the cache cannot be written.
    """
    plain = sorted(name for name in names if not PurePosixPath(name).is_absolute())
    # A deeper folder for names with "..", so that their files are in the cached folder as well.
    climbs = max((name.split("/").count("..") for name in plain), default=0)
    inner = PurePosixPath(*["in"] * climbs)

    def make(fresh: Path) -> None:
        (fresh / inner).mkdir(parents=True)
        for name in plain:
            path = fresh / inner
            for part in PurePosixPath(name).parent.parts:
                path /= part
                path.mkdir(exist_ok=True)
            (path / PurePosixPath(name).name).write_text(stand_in(name), encoding="utf-8")

    known = "\0".join(f"{name}\0{stand_in(name)}" for name in plain)
    key = xxhash.xxh3_128_hexdigest(known.encode("utf-8", "surrogateescape"))
    return cached(f"without-{key}", make, folder) / inner
