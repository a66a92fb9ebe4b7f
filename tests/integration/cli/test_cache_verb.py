"""``gi-cuda cache``, ``--no-cache``, and that verbs compile nothing twice."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.host.build.library import build_library
from tests.command import Done, gi_cuda
from tests.conftest import TARGETS
from tests.sweeps import broad, sweep

Command = Callable[..., Done]
COMPILE = ("mutate", TARGETS / "scale", "--compile", "--sample", 6)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command line, with a cache folder of its own."""

    def run(*words: object, **environment: str) -> Done:
        own = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "GI_CUDA_CACHE_SIZE": "100M"}
        return gi_cuda(*words, cwd=tmp_path, **{**own, **environment})

    return run


@pytest.fixture
def runtime(tmp_path: Path) -> None:
    """Puts the host's runtime library and compiled headers into that folder: they are made for all
    variants, and to make them takes seconds."""
    shared, own = build_library(), tmp_path / "cache" / "gi-cuda"
    own.mkdir(parents=True)
    (own / shared.name).symlink_to(shared)
    (shared.parent / "headers").mkdir(exist_ok=True)
    (own / "headers").symlink_to(shared.parent / "headers")


def asked(command: Command) -> tuple[int, int]:
    """Return the number of variants from the cache, and of all variants."""
    done = command("cache")
    assert done.returncode == 0, done.stderr
    found = re.search(r"(\d+) of (\d+) variants", done.stdout)
    assert found
    return int(found[1]), int(found[2])


def misses(command: Command) -> int:
    found, all_of_them = asked(command)
    return all_of_them - found


def test_looking_makes_no_folder(command: Command, tmp_path: Path) -> None:
    assert asked(command) == (0, 0)
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("runtime")
def test_looked_at_and_emptied(command: Command, tmp_path: Path) -> None:
    first = command(*COMPILE)
    assert (first.returncode, first.stderr) == (0, "")
    found, every = asked(command)
    assert (found, every > 1) == (0, True)
    assert command(*COMPILE).stdout == first.stdout
    assert asked(command) == (every, 2 * every)
    said = command("cache").stdout
    assert str(tmp_path / "cache" / "gi-cuda" / "code") in said
    assert "of at most 100 MiB" in said
    emptied = command("doctor", "--cache", "--clear")
    assert (emptied.returncode, emptied.stderr) == (0, "")
    assert asked(command) == (0, 0)
    assert "0 entries" in command("cache").stdout


@pytest.mark.usefixtures("runtime")
def test_past_the_cache(command: Command, tmp_path: Path) -> None:
    plain = command(*COMPILE, "--no-cache")
    assert command(*COMPILE, GI_CUDA_CACHE_SIZE="0").stdout == plain.stdout
    assert not (tmp_path / "cache" / "gi-cuda" / "code").exists()
    assert "switched off" in command("cache", GI_CUDA_CACHE_SIZE="0").stdout


@pytest.mark.usefixtures("runtime")
def test_a_damaged_cache(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "gi-cuda" / "code"
    folder.mkdir(parents=True)
    (folder / "cache.db").write_bytes(b"no database" * 1000)
    done = command(*COMPILE)
    assert done.returncode == 0
    (said,) = done.stderr.splitlines()
    assert str(folder) in said
    assert "going on without it" in said
    looked = command("cache")
    assert looked.returncode == 2
    assert "gi-cuda doctor --cache --clear" in looked.stderr
    assert command("doctor", "--cache", "--clear").returncode == 0
    assert asked(command) == (0, 0)


def test_no_size(command: Command) -> None:
    for words in (COMPILE, ("cache",)):
        done = command(*words, GI_CUDA_CACHE_SIZE="large")
        assert done.returncode == 2
        assert "GI_CUDA_CACHE_SIZE" in done.stderr
        assert "Traceback" not in done.stderr


@broad
@pytest.mark.usefixtures("runtime")
def test_the_second_time_nothing_is_compiled(command: Command) -> None:
    words = ("check", TARGETS / "scale")
    first = command(*words)
    assert first.returncode == 0, first.stderr
    before = misses(command)
    assert before
    assert command(*words).returncode == 0
    assert misses(command) == before


@broad
@pytest.mark.usefixtures("runtime")
def test_a_search_and_what_follows_it(command: Command) -> None:
    words = ("--population", 8, "--generations", 1, "--workers", 1)
    done = command("evolve", TARGETS / "scale", "--run", "run", *words)
    assert done.returncode == 0, done.stderr
    found, _ = asked(command)
    assert command("resume", "run", "--generations", 2).returncode == 0
    assert asked(command)[0] > found  # the reference at least
    validate = ("validate", "run", "--genotype", "BLOCK=128")
    first = command(*validate)
    assert first.returncode in (0, 1), first.stderr
    before = misses(command)
    again = command(*validate)
    assert again.returncode in (0, 1), again.stderr
    assert misses(command) == before


@pytest.mark.parametrize("level", sweep(["source", "ptx"], "source"))
def test_what_nvcc_made_in_another_process(command: Command, toolkit: Toolkit, level: str) -> None:
    words = (*COMPILE, "--backend", "cuda", "--level", level)
    first = command(*words)
    assert first.returncode == 0, first.stderr
    _, every = asked(command)
    assert command(*words).stdout == first.stdout
    assert asked(command) == (every, 2 * every)
