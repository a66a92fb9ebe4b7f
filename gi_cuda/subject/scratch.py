"""Git commands: queries of a work tree, and patches applied in a temporary repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from gi_cuda.errors import UserError


def apply_in_scratch(
    before: Mapping[str, str], texts: list[str], folder: Path, *, mailed: bool
) -> dict[str, str]:
    """Apply patches to files with git in a new repository, and return the changed texts by path.

    Args:
        before: the files' texts by their paths in the repository.
        texts: the patches, in order.
        folder: an empty folder.
        mailed: whether the patches are mails, for ``git am``.

    Raises:
        UserError: git is not installed, or rejects a patch.
    """
    for path, text in before.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        _write(folder / path, text)
    _git(folder, "init", "--quiet")
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message=as it is")
    patch = folder.parent / f"{folder.name}.patch"
    for text in texts:
        _write(patch, text)
        words = ["am", "--quiet", "--keep-cr"] if mailed else ["apply"]
        _git(folder, *words, str(patch.resolve()))
    return {path: _read(folder / path) for path in before}


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def _git(folder: Path, *words: str) -> None:
    git = shutil.which("git")
    if git is None:
        raise UserError("git is not on PATH, and patches are applied by it", hint="install git")
    who = {"GIT_AUTHOR_NAME": "gi-cuda", "GIT_AUTHOR_EMAIL": "gi-cuda@localhost"}
    who |= {"GIT_COMMITTER_NAME": "gi-cuda", "GIT_COMMITTER_EMAIL": "gi-cuda@localhost"}
    # Ignore the user's git configuration: it may change line ends, sign commits or run hooks.
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        [git, *words],
        cwd=folder,
        env={**os.environ, **who, **plain},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise UserError(
            f"`git {words[0]}` does not take the patch: {done.stderr.strip()}", where="--check"
        )


def commit_words(folder: Path) -> str:
    """Return the commit of a folder's work tree, and a note if files in the folder were changed.

    "" if the folder is in no repository.
    """
    commit = git_says(folder, "rev-parse", "HEAD")
    changed = commit and git_says(folder, "status", "--porcelain", "--untracked-files=no", ".")
    return f"{commit}, with changes that are not committed" if changed else commit


def git_says(folder: Path, *words: str) -> str:
    """Return the output of a git command; "" if it fails or git is not installed."""
    git = shutil.which("git")
    if git is None:
        return ""
    command = [git, "-C", str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
