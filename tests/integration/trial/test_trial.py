"""Proposals that do not run as they are read from the source, and how they are mended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gi_cuda.cli import app
from gi_cuda.evaluate.baseline import establish, try_broken
from gi_cuda.init import Proposal, files, from_options, propose, write_folder
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject
from gi_cuda.trial import Attempts, Outcome, mended
from gi_cuda.trial.troubles import Brief, Crowded, Roles, Slow, Trouble, Varying

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def host(launch: str, *sizes: str, values: str = "int n = 4000;") -> str:
    """Host code that allocates buffers ``a``, ``b``, ... of ``float`` and makes a launch."""
    names = "abc"[: len(sizes)]
    declared = " ".join(f"float *{name};" for name in names)
    made = " ".join(
        f"cudaMalloc(&{name}, ({size}) * sizeof(float));"
        for name, size in zip(names, sizes, strict=True)
    )
    return f"int main() {{ {values} {declared} {made} {launch} }}\n"


@pytest.fixture
def trial(tmp_path: Path) -> Callable[[str], Outcome]:
    """Tries the target that is proposed for a source."""

    def tried(text: str) -> Outcome:
        source = tmp_path / "k.cu"
        source.write_text(text)
        (tmp_path / "attempts").mkdir()
        attempts = Attempts(tmp_path / "attempts", 1, None)
        proposal = propose(source, None, from_options((), ()))
        return mended(proposal, attempts.attempt, 60)

    return tried


def sizes(proposal: Proposal) -> dict[str, str]:
    return {buffer.name: buffer.items(proposal.counts) for buffer in proposal.buffers}


def roles(proposal: Proposal) -> dict[str, str]:
    return {buffer.name: buffer.role for buffer in proposal.buffers}


def test_a_block_has_no_more_threads_than_there_is_shared_memory_for(
    trial: Callable[[str], Outcome],
) -> None:
    # The launch is that of another instance of the kernel.
    kernel = """
    template <int N> __device__ float passed_on(float x) {
      __shared__ float tile[N][N];
      tile[threadIdx.y][threadIdx.x] = x;
      __syncthreads();
      return tile[threadIdx.x][threadIdx.y];
    }
    __global__ void k(const float *a, float *b, int n) {
      int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
      float x = passed_on<16>(i < n ? a[i] : 0);
      if (i < n) b[i] = x;
    }
    """
    launch = "dim3 threads(32, 32); k<<<(n + 1023) / 1024, threads>>>(a, b, n);"
    found = trial(kernel + host(launch, "n", "n"))
    assert found.trouble is None
    assert found.proposal.launching.block == ("16", "16")
    assert "The block is smaller than that" in " ".join(found.proposal.launching.notes)


LAUNCH = "k<<<(n + 127) / 128, 128>>>(a, b, n);"


def test_what_passes_stays_as_it_is(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) b[i] = a[i]; }}\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes
    assert not outcome.done
    assert sizes(outcome.proposal) == {"a": "n", "b": "n"}
    assert list(outcome.lines()) == ["it ran on the host back end, and passes"]


def test_buffers_grow_to_what_is_read_and_written(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) b[i] = a[2 * i]; }}\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble
    assert sizes(outcome.proposal)["a"] == "n * 2"
    assert [b.grown for b in outcome.proposal.buffers] == ["n", ""]


def test_a_few_elements_more_are_added(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) b[i + 60] = a[i]; }}\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble
    assert sizes(outcome.proposal) == {"a": "n", "b": "n + 60"}


def test_threads_without_a_check_get_elements(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        f"__global__ void k(const float *a, float *b, int n) {{ {INDEX} b[i] = a[i] * n; }}\n"
        + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble


def test_pointers_may_point_behind_the_begin(
    trial: Callable[[str], Outcome], tmp_path: Path
) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) b[i] = a[i - 5000] + a[i]; }}\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble
    begins = {b.name: b.begin for b in outcome.proposal.buffers}
    assert begins == {"a": "5000", "b": ""}
    text = files(outcome.proposal, tmp_path)["target.toml"]
    assert 'begin = "5000"' in text
    assert 'size = "n + 5000"' in text


def test_shared_memory_grows(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) { extern __shared__ double s[];"
        f"{INDEX} for (int j = 0; j < 17; j++) s[threadIdx.x * 17 + j] = j;"
        " if (i < n) b[i] = a[i] + (float)s[threadIdx.x * 17]; }\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble
    assert "hared memory was grown" in outcome.proposal.launching.notes[0]


def test_what_takes_long_gets_smaller(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) {{ float s = 0; for (int j = 0; j < n; j += 2)"
        " for (int l = j; l < n; l += 2) s += a[j] * a[l]; b[i] = s; } }\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble
    (extent,) = outcome.proposal.extents
    assert extent.train < 601
    assert "milliseconds" in extent.note


def test_rounds_that_the_host_code_says_get_fewer(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int rounds) {"
        f"{INDEX} float s = a[i]; for (int j = 0; j < rounds; j++) s = s * 1.25f + 1.0f / (s + 2);"
        " b[i] = s; }\n" + host("k<<<4, 128>>>(a, b, 10000000);", "512", "512")
    )
    assert outcome.passes, outcome.trouble
    (rounds,) = [s for s in outcome.proposal.scalars if s.name == "rounds"]
    assert rounds.value < 10000000
    assert "; was " in rounds.note


def test_large_buffers_of_a_fixed_size_get_smaller(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        f"__global__ void k(float *a) {{ {INDEX} a[i] += 1; }}\n"
        + host("k<<<16384, 512>>>(a);", "8388608")
    )
    assert outcome.passes, outcome.trouble
    (buffer,) = outcome.proposal.buffers
    assert int(buffer.items(())) < 8388608
    assert "the 8388608 of the source" in buffer.notes.size
    assert int(outcome.proposal.launching.grid[0]) < 16384


def test_buffers_of_a_fixed_size_for_which_there_is_no_memory_get_smaller(
    trial: Callable[[str], Outcome],
) -> None:
    outcome = trial(
        f"__global__ void k(const float *a, float *b) {{ {INDEX} b[i] = 2 * a[i]; }}\n"
        + host("k<<<n / 128, 128>>>(a, b);", "n", "n", values="const int n = 512000000;")
    )
    assert outcome.passes, outcome.trouble
    assert all(int(size) < 1 << 24 for size in sizes(outcome.proposal).values())


def test_roles_are_what_was_seen(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "#define SET(p, v) (*(float *)(size_t)(p) = (v))\n"
        "__global__ void k(const float *a, float *b, float *c, int n) {"
        f"{INDEX} if (i < n) {{ SET(a + i, 2.0f); b[i] = 3; if (n < 0) c[i] = 1; }} }}\n"
        + host("k<<<(n + 127) / 128, 128>>>(a, b, c, n);", "n", "n", "n")
    )
    assert outcome.passes, outcome.trouble
    assert roles(outcome.proposal) == {"a": "inout", "b": "output", "c": "inout"}


def test_what_nothing_is_known_of_is_looked_at(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "struct Cell { float *p; __device__ void set(int i, float v) const { p[i] = v; } };\n"
        "__device__ void put(const Cell &c, int i) { c.set(i, i * 2.0f); }\n"
        f"__global__ void k(float *a, int n) {{ {INDEX} Cell c = {{a}}; if (i < n) put(c, i); }}\n"
        + host("k<<<(n + 127) / 128, 128>>>(a, n);", "n")
    )
    assert outcome.passes, outcome.trouble
    assert roles(outcome.proposal)["a"] in ("inout", "output")


def test_a_division_by_data_gets_none_that_are_zero(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const int *a, int *b, int n) {"
        f"{INDEX} if (i < n) b[i] = 1000 / a[i]; }}\n"
        "int main() { int n = 4000; int *a, *b; cudaMalloc(&a, n * sizeof(int));"
        f" cudaMalloc(&b, n * sizeof(int)); {LAUNCH} }}\n"
    )
    assert outcome.passes, outcome.trouble
    assert outcome.proposal.buffers[0].fill is not None
    assert outcome.proposal.buffers[0].fill.low == 1


def test_data_that_show_nothing_get_others(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) if (a[i] > 20) b[i] += a[i]; }}\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble


def test_what_looks_for_a_few_values_gets_them(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        "__global__ void k(const int *next, int *level, int round, int n) {"
        f"{INDEX} if (i < n && level[i] == round) if (level[next[i]] == -1)"
        " level[next[i]] = round + 1; }\n"
        "int main() { int n = 4000; int *a, *b; cudaMalloc(&a, n * sizeof(int));"
        " cudaMalloc(&b, n * sizeof(int)); k<<<(n + 127) / 128, 128>>>(a, b, 0, n); }\n"
    )
    assert outcome.passes, outcome.trouble


@pytest.mark.parametrize("name", ["kernel", "launch", "call", "data", "size", "max"])
def test_a_kernel_may_have_a_name_of_the_back_end_s_own(
    name: str, trial: Callable[[str], Outcome]
) -> None:
    outcome = trial(
        f"__global__ void {name}(float *a, int n) {{ {INDEX} if (i < n) a[i] = i; }}\n"
        + host(f"{name}<<<(n + 127) / 128, 128>>>(a, n);", "n")
    )
    assert outcome.passes, outcome.trouble


TILED = """__global__ void k(float *a, const float *b, int gap) {
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    a[y * gap + x] = x + 3 * y + b[threadIdx.x]; }
int main() { float *a, *b; int w = 256, h = 256, unknown = read_it();
    cudaMalloc(&a, w * h * sizeof(float)); cudaMalloc(&b, 32); dim3 grid(32, 32), block(8, 8);
    k<<<grid, block>>>(a, b, unknown); }
"""


def test_rows_that_overlap_get_longer(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(TILED)
    assert outcome.passes, outcome.trouble
    (length,) = (s for s in outcome.proposal.scalars if s.name == "gap")
    assert length.value in (128, 1024)
    assert "threads wrote the same places" in length.note


def test_what_races_whatever_its_scalars_are_passes_all_the_same(
    trial: Callable[[str], Outcome],
) -> None:
    outcome = trial(TILED.replace("y * gap + x", "(y + x) % 8").replace("8)", "8 + gap)", 1))
    assert outcome.passes, outcome.trouble
    (length,) = (s for s in outcome.proposal.scalars if s.name == "gap")
    assert length.value == 2


@pytest.mark.parametrize(
    ("head", "launcher"),
    [("", "void k(float *a)"), ("template <typename T> ", "template <typename T> void k(T *a)")],
)
def test_host_code_that_launches_a_kernel_may_have_its_name(
    head: str, launcher: str, trial: Callable[[str], Outcome]
) -> None:
    kind = "T" if head else "float"
    launch = "k<T><<<40, 128>>>(a, 3, 5120)" if head else "k<<<40, 128>>>(a, 3, 5120)"
    outcome = trial(
        f"{head}__global__ void k({kind} *a, {kind} v, int n) {{ {INDEX} if (i < n) a[i] = v; }}\n"
        f"{launcher} {{ {launch}; }}\n"
        f"int main() {{ float *p; cudaMalloc(&p, 5120 * sizeof(float)); k(p); }}\n"
    )
    assert outcome.passes, outcome.trouble


def test_what_cannot_be_mended_stays_and_is_said(trial: Callable[[str], Outcome]) -> None:
    text = (
        "__global__ void k(float *a, int n) {"
        f"{INDEX} if (i < n) a[i] = 1; for (;;) __syncthreads(); }}\n"
        + host("k<<<(n + 127) / 128, 128>>>(a, n);", "n")
    )
    outcome = trial(text)
    assert not outcome.passes
    assert sizes(outcome.proposal) == {"a": "n"}
    first, *_ = outcome.lines()
    assert first.startswith("it ran on the host back end, and does not pass: ")


def test_what_was_mended_passes_a_check(trial: Callable[[str], Outcome], tmp_path: Path) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} b[i] = a[3 * i + 1] + a[i - 4000]; }}\n" + host(LAUNCH, "n", "n")
    )
    assert outcome.passes, outcome.trouble
    folder = tmp_path / "target"
    write_folder(folder, files(outcome.proposal, folder))
    assert "FILL IN" not in (folder / "target.toml").read_text()
    subject = load_subject(folder, "host")
    with open_tools(subject, tmp_path / "scratch", workers=1, jobs=1) as tools:
        arguments = (subject, tools.compiler, tools.pool)
        baseline = establish(*arguments, tools.scratch("baseline"), tools.reference)
        assert try_broken(*arguments, tools.scratch("broken"), baseline).penalty


def test_init_goes_on_to_a_kernel_that_passes(tmp_path: Path) -> None:
    source = tmp_path / "several.cu"
    source.write_text(
        "__global__ void stuck(float *a, int n) {"
        f"{INDEX} for (int j = 0; j < n; j++) if (i < n) a[i] += j; for (;;) __syncthreads(); }}\n"
        f"__global__ void fine(float *a, int n) {{ {INDEX} if (i < n) a[i] = i; }}\n"
    )
    words = ["init", str(source), "-o", str(tmp_path / "t")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "passed over stuck" in done.output
    assert "its trial fails: " in done.output
    assert 'kernels = ["fine"]' in (tmp_path / "t" / "target.toml").read_text()


def test_init_without_a_trial_runs_nothing(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(f"__global__ void k(float *a, int n) {{ {INDEX} if (i <= n) a[i] = i; }}\n")
    words = ["init", str(source), "--no-trial", "-o", str(tmp_path / "t")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "host back end" not in done.output
    assert "FILL IN" in (tmp_path / "t" / "target.toml").read_text()


@pytest.fixture
def copying(tmp_path: Path) -> Proposal:
    """What is proposed for a kernel that copies as many items as its case says."""
    source = tmp_path / "k.cu"
    source.write_text(
        "__global__ void k(const float *a, float *b, int n) {"
        f"{INDEX} if (i < n) b[i] = a[i]; }}\n" + host(LAUNCH, "n", "n")
    )
    return propose(source, None, from_options((), ()))


def test_what_is_too_short_to_be_timed_gets_longer(copying: Proposal) -> None:
    def attempt(proposal: Proposal, patience: float) -> Brief | None:
        (extent,) = proposal.extents
        return Brief(extent.train * 1e-9) if extent.train < 10**5 else None

    outcome = mended(copying, attempt, 60)
    assert outcome.passes
    assert outcome.done == ("larger sizes",)
    assert outcome.proposal.extents[0].train >= 10**5


def test_the_time_to_compile_is_not_taken_from_what_mends(
    copying: Proposal, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def attempt(proposal: Proposal, patience: float) -> Roles | None:
        clock[0] += 5 if clock[0] else 100
        wanted = all(b.role == "inout" for b in proposal.buffers if b.name == "b")
        return None if wanted else Roles(frozenset(), frozenset({"b"}))

    monkeypatch.setattr("gi_cuda.trial.search.time.monotonic", lambda: clock[0])
    assert mended(copying, attempt, 10).passes
    clock[0] = 0.0
    assert not mended(copying, attempt, 0).passes


def test_what_no_size_makes_longer_stays_as_it_is(copying: Proposal) -> None:
    tried = []

    def attempt(proposal: Proposal, patience: float) -> Brief | None:
        tried.append(proposal)
        return Brief(1e-6)

    outcome = mended(copying, attempt, 60)
    assert outcome.passes
    assert outcome.proposal.extents == copying.extents
    assert len(tried) < 4


def test_what_came_furthest_is_kept(copying: Proposal) -> None:
    def attempt(proposal: Proposal, patience: float) -> Roles | Varying:
        if all(buffer.role == "inout" for buffer in proposal.buffers if buffer.name == "b"):
            return Varying(frozenset({"b"}))
        return Roles(frozenset(), frozenset({"b"}))

    outcome = mended(copying, attempt, 60)
    assert not outcome.passes
    assert isinstance(outcome.trouble, Varying)
    assert roles(outcome.proposal)["b"] == "inout"


def test_what_depends_on_the_order_of_threads_passes_where_nothing_helps(
    copying: Proposal,
) -> None:
    tried: list[Proposal] = []

    def attempt(proposal: Proposal, patience: float) -> Trouble:
        tried.append(proposal)
        return Slow("train", 0.02, over=False) if patience < 0.1 else Crowded()

    outcome = mended(copying, attempt, 60)
    assert outcome.passes
    assert len(tried) < 50
