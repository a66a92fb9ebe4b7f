"""Copies of the work tree that an application lies in, in which a patch can be applied and built.

A copy has what git knows of and what it does not ignore, as it is in the work tree now. What git
ignores is left out: it is what builds have made, with the folder's own name in it, and a build in
a copy must not go on with that.
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
from gi_cuda.spec.load import keys_of
from gi_cuda.subject.diffs import work_tree
from gi_cuda.upstream.steps import PatchStep

_OF_GIT = ("DIR", "WORK_TREE", "INDEX_FILE", "PREFIX", "OBJECT_DIRECTORY", "COMMON_DIR")
_OF_MAKE = ("MAKELEVEL", "MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES")
"""By these git and make, where they started us, tell what they start where they are."""

_CMAKE = "CMakeCache.txt"
"""Marks a folder that was built in and that names its own place: a build in a copy of it would
build the original."""


@dataclass(frozen=True, slots=True)
class WorkTree:
    """What is copied.

    Attributes:
        top: its uppermost folder.
        patched: the folder in it at which the paths in a patch start.
        place: the folder in it where the application's commands are run.
        git: whether git knows which files belong to it.
        inputs: files and folders that are copied though git ignores them.
    """

    top: Path
    patched: Path
    place: Path
    git: bool
    inputs: tuple[Path, ...] = ()

    def within(self, folder: Path, copy: Path) -> Path:
        """What is in a copy where a folder of the work tree is here."""
        return copy / folder.relative_to(self.top)

    def files(self) -> dict[Path, None]:
        """Files, links and, without git, folders: paths from its top."""
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
    """The work tree that a target's source and its application lie in.

    Raises:
        UserError: there is none that holds both, or what else is to be copied.
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
    """Copy a work tree, with the times of its files; the copy has git's history where there is one,
    for builds that ask for it.

    Raises:
        MachineError: there is no room.
        UserError: git does not tell the files, or one cannot be copied.
    """
    # Where temporary files go may lie in the work tree itself.
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
    """Copy a file, a folder without what is in it, or a link, which leads to the same file of the
    copy, or outside of it where it did; nothing else."""
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
    """Files that git does not ignore, those of submodules too."""
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
    """A repository that has its objects from the original one; none where git cannot do that."""
    cloned = _git(top, "clone", "--quiet", "--shared", "--no-checkout", ".", str(copy))
    if cloned.returncode:
        shutil.rmtree(copy, ignore_errors=True)
    else:
        _git(copy, "read-tree", "HEAD")


def apply_steps(tree: WorkTree, copy: Path, steps: Sequence[PatchStep], main: Path) -> None:
    """Let git apply patches in a copy.

    Args:
        main: where the main file of the source is.

    Raises:
        UserError: git does not take one, or makes other files of them.
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
    """Make the files that patches change newer than what was built of them, so that a copy without
    the patches builds anew what one with them does.

    Args:
        main: where the main file of the source is; it is touched where they change none.
    """
    before, after = steps[0].before.files, steps[-1].after.files
    names = [name for name, text in after.items() if text != before[name]]
    for name in names or [main.name]:
        tree.within(Path(os.path.abspath(main.resolve().parent / name)), copy).touch()


def environment(**more: str) -> dict[str, str]:
    """The user's own, for programs that are to find nothing but the copy that they run in."""
    users = users_environment()
    others = {f"GIT_{name}" for name in _OF_GIT}
    if "MAKELEVEL" in users:
        others.update(_OF_MAKE)
    return {**{name: value for name, value in users.items() if name not in others}, **more}


_PLAIN = ("core.autocrlf=false", "apply.whitespace=nowarn", "apply.ignoreWhitespace=no")
"""What the user's own settings must not do to files."""


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder.

    Raises:
        UserError: it is not there.
    """
    git = shutil.which("git")
    if git is None:
        raise UserError("git is not on PATH", where="--application", hint="install it")
    settings = [word for setting in _PLAIN for word in ("-c", setting)]
    return subprocess.run(
        [git, *settings, *words],
        cwd=folder,
        # Above a copy there may be a repository that is none of its own.
        env=environment(GIT_CEILING_DIRECTORIES=str(folder.parent), LC_ALL="C"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
