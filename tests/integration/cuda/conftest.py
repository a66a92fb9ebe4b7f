"""Tests with a real nvcc; they need no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gi_cuda.cli.evolve
import gi_cuda.run
from gi_cuda.build.batch import build_batch
from gi_cuda.build.model import BuildFailure, Built, Variant
from gi_cuda.build.nvcc import CudaBinary, NvccCompiler
from gi_cuda.cuda import Toolkit, find_toolkit
from gi_cuda.errors import UserError
from gi_cuda.levels import load_evolvable
from gi_cuda.ptx_subject import PtxSubject
from gi_cuda.subject import Subject

from .planted import SCALE, SOURCE_WINNER, Searched, a_run, planted, search_from
from .pretended import PretendedBackend, PretendedPool


@pytest.fixture(scope="session")
def toolkit() -> Toolkit:
    """The toolkit, or a skip with the reason."""
    try:
        return find_toolkit()
    except UserError as error:
        pytest.skip(error.what)


class Nvcc:
    """Compiles sources as batches."""

    def __init__(self, toolkit: Toolkit, folder: Path) -> None:
        self.toolkit = toolkit
        self.folder = folder
        self.compiler = NvccCompiler(
            str(toolkit.nvcc), "sm_90", "kernel.cu", "#include <stdint.h>\n", ("-std=c++17",), 2
        )

    def build(
        self, texts: list[str], options: tuple[str, ...] = (), **macros: str
    ) -> dict[int, Built]:
        """Compile texts as variants 1, 2, ..."""
        variants = [Variant(i, text, macros, options) for i, text in enumerate(texts, 1)]
        return build_batch(self.compiler, variants, self.folder)

    def binaries(self, texts: list[str], options: tuple[str, ...] = ()) -> list[CudaBinary]:
        """The same; all must compile."""
        built = self.build(texts, options)
        failures = [one.message for one in built.values() if isinstance(one, BuildFailure)]
        assert not failures
        return [one for _, one in sorted(built.items()) if isinstance(one, CudaBinary)]


@pytest.fixture
def nvcc(toolkit: Toolkit, tmp_path: Path) -> Nvcc:
    """A compiler with a folder of its own."""
    return Nvcc(toolkit, tmp_path)


@contextmanager
def pretended() -> Iterator[None]:
    """Runs go to a pretended GPU, in this process alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gi_cuda.run, "open_backend", lambda _: PretendedBackend())
        patch.setattr(gi_cuda.cli.evolve, "open_backend", lambda _: PretendedBackend())
        patch.setattr(gi_cuda.run, "Pool", PretendedPool)
        yield


@pytest.fixture
def gpu() -> Iterator[None]:
    """Runs of a test go to a pretended GPU."""
    with pretended():
        yield


@pytest.fixture(scope="session")
def scale_source(toolkit: Toolkit) -> Subject:
    """The small target."""
    subject = load_evolvable(SCALE, "cuda")
    assert isinstance(subject, Subject)
    return subject


@pytest.fixture(scope="session")
def scale_ptx(toolkit: Toolkit) -> PtxSubject:
    """Its PTX."""
    subject = load_evolvable(SCALE, "cuda", "ptx")
    assert isinstance(subject, PtxSubject)
    return subject


@pytest.fixture(scope="session")
def planted_run(scale_ptx: PtxSubject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on PTX with a planted winner; to be copied by those who write to it."""
    with pretended():
        folder = tmp_path_factory.mktemp("planted") / "run"
        return a_run(scale_ptx, folder, str(planted(scale_ptx)))


@pytest.fixture(scope="session")
def of_source(scale_source: Subject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of the source."""
    with pretended():
        return a_run(scale_source, tmp_path_factory.mktemp("of") / "source", SOURCE_WINNER)


@pytest.fixture(scope="session")
def searched(of_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Searched:
    """A search on PTX from that winner; to be copied likewise."""
    with pretended():
        return search_from(of_source, tmp_path_factory.mktemp("searched"))
