"""Copies of an application's work tree, in which a patch can be applied and built.

A copy contains the files that git tracks or does not ignore, in their present state. Ignored files
are left out. They are build products that may contain the path of the original folder, and a build
in the copy must not reuse them.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends import users_environment
from gi_cuda.errors import MachineError, UserError
from gi_cuda.spec import Application, Target
from gi_cuda.spec.toml_file.load import keys_of
from gi_cuda.subject.diffs import work_tree
from gi_cuda.upstream.steps import PatchStep

_OF_GIT = ("DIR", "WORK_TREE", "INDEX_FILE", "PREFIX", "OBJECT_DIRECTORY", "COMMON_DIR")
_OF_MAKE = ("MAKELEVEL", "MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES")
"""Environment variables that git (prefix ``GIT_``) and make set for their child processes. They
are removed, because they refer to the original folder if git or make started this process."""

_CMAKE = "CMakeCache.txt"
"""File that marks a CMake build folder. The file contains the folder's path, so a build in a copy
would build the original."""


@dataclass(frozen=True, slots=True)
class WorkTree:
    """A folder tree that is copied.

    Attributes:
        top: root folder.
        patched: the folder that the paths in a patch are relative to.
        place: the folder in which the application's commands run.
        git: whether the tree is a git work tree, so that git lists its files.
        inputs: files and folders that are copied although git ignores them.
    """

    top: Path
    patched: Path
    place: Path
    git: bool
    inputs: tuple[Path, ...] = ()

    def within(self, folder: Path, copy: Path) -> Path:
        """Return the path in a copy that corresponds to a folder of the work tree."""
        return copy / folder.relative_to(self.top)

    def files(self) -> dict[Path, None]:
        """Return the files, links and, without git, folders to copy, relative to `top`.

        CMake build folders are left out. The dict is an ordered set.
        """
        found = dict.fromkeys(_known(self.top) if self.git else _everything(self.top))
        for one in self.inputs:
            inside = _everything(one) if one.is_dir() and not one.is_symlink() else [Path()]
            found |= dict.fromkeys(one.relative_to(self.top) / path for path in inside)
        needed = {one.relative_to(self.top) for one in (self.patched, self.place)}
        needed |= {up for one in needed for up in one.parents}
        built = {path.parent for path in found if path.name == _CMAKE} - needed
        return {
            path: None
            for path in found
            if path.name != _CMAKE and not built & {path, *path.parents}
        }


def application_tree(target: Target, application: Application) -> WorkTree:
    """Return the work tree that contains a target's source and its application.

    Raises:
        UserError: no work tree contains both, or an input lies outside the work tree.
    """
    places = keys_of(target)
    place = application.place.resolve()
    files = [Path(os.path.abspath(one)).parent for one in (target.source, *target.headers)]
    sources = Path(os.path.commonpath(files))
    patched = work_tree(sources) or sources
    common = Path(os.path.commonpath([patched, place]))
    top = work_tree(common)
    if top is None and common != place:
        raise places.error(
            ("application", "folder"),
            f"the source does not lie in the application: {target.source} is not in {place}, and"
            " no git work tree holds both",
            "Name the application's uppermost folder, which holds the source.",
        )
    tree = WorkTree(top or place, patched, place, top is not None, application.inputs)
    for one in application.inputs:
        if not one.is_relative_to(tree.top):
            raise places.error(
                ("application", "inputs"),
                f"{one} does not lie in {tree.top}, of which copies are made",
                "It need not be copied: name it by its whole path in `run`.",
            )
    return tree


def copy_tree(tree: WorkTree, copy: Path) -> None:
    """Copy a work tree, including modification times and, for builds that use it, git's history.

    Raises:
        MachineError: the disk is full.
        UserError: git cannot list the files, or a file cannot be copied.
    """
    # The folder for temporary files may lie in the work tree itself.
    files = [one for one in tree.files() if not (tree.top / one).is_relative_to(copy.parent)]
    size = sum((tree.top / path).lstat().st_size for path in files)
    free = shutil.disk_usage(copy.parent).free
    if size > free:
        needed, left = (f"{one / 2**20:.1f} MiB" for one in (size, free))
        raise MachineError(
            f"a copy of {tree.top} takes {needed}, and there are {left}",
            where=str(copy.parent),
            hint="make room, or name another place with the environment variable TMPDIR",
        )
    if tree.git:
        _copy_history(tree.top, copy)
    tree.within(tree.place, copy).mkdir(parents=True, exist_ok=True)
    for path in files:
        _copy(tree.top / path, copy / path, tree.top)


def _copy(file: Path, to: Path, top: Path) -> None:
    """Copy a file, a link, or a folder without its contents; ignore anything else.

    The copy of a link into the tree points into the copied tree. The copy of a link to the outside
    points to the same file as the original.
    """
    try:
        if file.is_symlink():
            to.parent.mkdir(parents=True, exist_ok=True)
            leads = os.path.abspath(file.parent / os.readlink(file))
            inside = Path(leads).is_relative_to(top)
            to.symlink_to(os.path.relpath(leads, file.parent) if inside else leads)
        elif file.is_dir():
            to.mkdir(parents=True, exist_ok=True)
        elif file.is_file():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, to)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            raise UserError(
                "it cannot be read, and belongs to what is copied for the application",
                where=str(file),
                hint="make it readable, or have git ignore it",
            ) from None
        raise


def _everything(top: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        yield Path(folder).relative_to(top)
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        yield from (Path(folder).relative_to(top) / name for name in (*names, *links))


def _known(top: Path) -> Iterator[Path]:
    """Yield the files that git does not ignore, including those of submodules."""
    listed = _git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed.returncode:
        said = os.fsdecode(listed.stderr).strip()
        raise UserError(f"git does not tell which files there are: {said}", where=str(top))
    for name in filter(None, listed.stdout.split(b"\0")):
        path = Path(os.fsdecode(name))
        if (top / path).is_dir() and not (top / path).is_symlink():
            if (top / path / ".git").exists():
                yield from (path / inner for inner in _known(top / path))
        elif os.path.lexists(top / path):
            yield path


def _copy_history(top: Path, copy: Path) -> None:
    """Make a git repository that shares the original's objects; make none if git fails."""
    cloned = _git(top, "clone", "--quiet", "--shared", "--no-checkout", ".", str(copy))
    if cloned.returncode:
        shutil.rmtree(copy, ignore_errors=True)
    else:
        _git(copy, "read-tree", "HEAD")


def apply_steps(tree: WorkTree, copy: Path, steps: Sequence[PatchStep], main: Path) -> None:
    """Apply patches in a copy with ``git apply``.

    Args:
        tree: the original work tree.
        copy: root folder of the copy.
        steps: the patches, in order.
        main: path of the source's main file.

    Raises:
        UserError: git rejects a patch, or the patched files differ from the intended ones.
    """
    patch = copy.parent / "application.patch"
    rest = tree.patched.relative_to(tree.top).as_posix()
    under = [] if rest == "." else [f"--directory={rest}"]
    for step in steps:
        if not step.changes_source:
            continue
        patch.write_bytes(step.diff(main).encode("utf-8", "surrogateescape"))
        done = _git(copy, "apply", *under, str(patch))
        if done.returncode:
            said = os.fsdecode(done.stderr).strip()
            raise UserError(f"git does not take the patch: {said}", where="--application")
    for name, text in steps[-1].after.files.items():
        file = Path(os.path.abspath(main.resolve().parent / name))
        made = tree.within(file, copy).read_bytes()
        if made != text.encode("utf-8", "surrogateescape"):
            raise UserError(
                "git makes another file of the patch than that which was meant",
                where=f"--application: {file}",
            )


def touch_changed(tree: WorkTree, copy: Path, steps: Sequence[PatchStep], main: Path) -> None:
    """Set the modification time of the files that patches change to now.

    Then the copy without the patches rebuilds the same files as the copy with them.

    Args:
        tree: the original work tree.
        copy: root folder of the copy.
        steps: the patches, in order.
        main: path of the source's main file; it is touched if the patches change no file.
    """
    before, after = steps[0].before.files, steps[-1].after.files
    names = [name for name, text in after.items() if text != before[name]]
    for name in names or [main.name]:
        tree.within(Path(os.path.abspath(main.resolve().parent / name)), copy).touch()


def environment(**more: str) -> dict[str, str]:
    """Return the user's environment without variables of git and make that name other folders.

    Args:
        more: additional variables.
    """
    users = users_environment()
    others = {f"GIT_{name}" for name in _OF_GIT}
    if "MAKELEVEL" in users:
        others.update(_OF_MAKE)
    return {**{name: value for name, value in users.items() if name not in others}, **more}


_PLAIN = ("core.autocrlf=false", "apply.whitespace=nowarn", "apply.ignoreWhitespace=no")
"""Git settings that override the user's, so that git changes no line ends or blanks in files."""


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder.

    Raises:
        UserError: git is not installed.
    """
    git = shutil.which("git")
    if git is None:
        raise UserError("git is not on PATH", where="--application", hint="install it")
    settings = [word for setting in _PLAIN for word in ("-c", setting)]
    return subprocess.run(
        [git, *settings, *words],
        cwd=folder,
        # A folder above the copy may be an unrelated repository.
        env=environment(GIT_CEILING_DIRECTORIES=str(folder.parent), LC_ALL="C"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
