"""Sources that ``init`` refuses; the remedy in its message works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.command import Done, gi_cuda
from tests.integration.init.proposing import refused, said
from tests.sweeps import broad, sweep

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
SCALE = (
    f"__global__ void k(const float *a, float *b, int n) {{ {INDEX}"
    " if (i < n) b[i] = 2 * a[i]; }\n"
)
CHILD = (
    "__global__ void child(const float *a, float *b, int at) {"
    " b[at + threadIdx.x] = 2 * a[at + threadIdx.x]; }\n"
)
POOL = "struct Pool { virtual float at(int i) const = 0; };\n"
PASSES = "it ran on the host back end, and passes"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A source that is refused, and what its user does then.

    Attributes:
        files: by name; ``k.cu`` is given to ``init``.
        options: that are given as well.
        said: words of the message.
        mended: files that differ afterwards.
        further: options that are given afterwards.
    """

    files: Mapping[str, str]
    said: tuple[str, ...]
    options: tuple[str, ...] = ()
    mended: Mapping[str, str] = field(default_factory=dict)
    further: tuple[str, ...] = ()


def source(text: str, *said: str, mended: str = "", further: tuple[str, ...] = ()) -> Refusal:
    """A single file that is refused."""
    return Refusal({"k.cu": text}, said, (), {"k.cu": mended or text}, further)


REFUSALS = {
    "launches a kernel": Refusal(
        {
            "k.cu": CHILD + "__global__ void parent(const float *a, float *b, int n) {\n"
            f" {INDEX}\n if (i * 32 < n)\n  child<<<1, 32>>>(a, b, 32 * i);\n}}\n"
        },
        ("k.cu:5: parent launches child itself (dynamic parallelism)", "k.cu --kernel child"),
        ("--kernel", "parent"),
        further=("--kernel", "child"),
    ),
    "steers a graph": source(
        "__global__ void k(cudaGraphConditionalHandle handle, float *b) {\n"
        " b[threadIdx.x] *= 0.5f;\n cudaGraphSetConditional(handle, b[0] > 1);\n}\n",
        "k.cu:1: k uses cudaGraphConditionalHandle",
        "write what it decides to a buffer",
        mended="__global__ void k(int *decided, float *b) {\n b[threadIdx.x] *= 0.5f;\n"
        " *decided = b[0] > 1;\n}\n",
    ),
    "function pointer": source(
        "__global__ void k(float *a, float (*f)(float)) { a[threadIdx.x] = f(a[threadIdx.x]); }\n",
        "k.cu:1: the parameter 'f' of k is of type",
        "let the kernel name the function itself",
        mended="__device__ float f(float x) { return x * x; }\n"
        "__global__ void k(float *a) { a[threadIdx.x] = f(a[threadIdx.x]); }\n",
    ),
    "virtual functions": source(
        POOL + "__global__ void k(Pool *p, float *b) { b[threadIdx.x] = p->at(threadIdx.x); }\n",
        "k.cu:2: the parameter 'p' of k is of type `Pool *`",
        "let the kernel take the data that such an object has",
        mended="__global__ void k(const float *p, float *b) { b[threadIdx.x] = p[threadIdx.x]; }\n",
    ),
    "unknown type": Refusal(
        {
            "k.cu": "__global__ void k(Config c, float *b) { b[threadIdx.x] *= c.scale; }\n",
            "types/config.h": "struct Config { float scale; };\n",
        },
        ("k.cu:1: the parameter 'c' of k is of type `Config`", "include the header", "-I DIR"),
        mended={
            "k.cu": '#include "config.h"\n'
            "__global__ void k(Config c, float *b) { b[threadIdx.x] *= c.scale; }\n"
        },
        further=("-I", "types"),
    ),
    "no output": source(
        '__global__ void k(const float *a) { if (*a < 0) printf("%d", threadIdx.x); }\n',
        "k.cu:1: k writes nothing that could be judged",
        "write a result to a buffer that is no `const` pointer",
        mended="__global__ void k(const float *a, float *b) { b[threadIdx.x] = 2 * *a; }\n",
    ),
    "a kernel that is yet to be written": source(
        "__global__ void k(const float *a, float *b, int n) {\n // TODO: b = 2 a\n}\n",
        "k.cu:1: k has no statements",
        "write what it is to do first",
        mended="__global__ void k(const float *a, float *b) { b[threadIdx.x] = 2 * *a; }\n",
    ),
    "no kernel": source(
        "float twice(float x) { return 2 * x; }\n",
        "k.cu: there is no kernel",
        "name the file that defines the kernel",
        mended=SCALE,
    ),
    "a kernel that a macro makes": source(
        "#define KERNEL(name, type) \\\n __global__ void name(type *a) { a[threadIdx.x] += 1; }\n"
        "#define MARK __global__\nMARK(int) = 1;\n__global__ KERNEL_OF(int);\n",
        "k.cu:5: there is no kernel",
        "write the kernel out",
        mended="__global__ void k(int *a) { a[threadIdx.x] += 1; }\n",
    ),
    "macro of the build": source(
        '#if LEVEL * 2 != 86\n#error "define LEVEL"\n#endif\n' + SCALE.replace("2 *", "LEVEL *"),
        "k.cu:2: its directives cannot be preprocessed",
        'error "define LEVEL"',
        "-D NAME=VALUE",
        further=("-D", "LEVEL=43"),
    ),
    "a C++ standard that no compiler knows": Refusal(
        {
            "k.cu": SCALE,
            "CMakeLists.txt": "set(CMAKE_CUDA_STANDARD 89)\nadd_executable(k k.cu)\n",
        },
        ("k.cu: its directives cannot be preprocessed", "c++89", "ask for an older one"),
        mended={"CMakeLists.txt": "set(CMAKE_CUDA_STANDARD 17)\nadd_executable(k k.cu)\n"},
    ),
    "not a compilation database": Refusal(
        {"k.cu": SCALE, "options.json": '{"std": "c++17"}'},
        ("options.json: this is not a compilation database", "-I DIR, -D NAME[=VALUE]"),
        ("--compile-commands", "options.json"),
        further=(),
    ),
    "header not found": Refusal(
        {
            "k.cu": "#include <own/scale.h>\n"
            "__global__ void k(float *b) { b[threadIdx.x] = own(threadIdx.x); }\n",
            "elsewhere/deep/own/scale.hh": "",
        },
        ("k.cu:1: the header 'own/scale.h' is not found", "own", "-I DIR"),
        mended={"elsewhere/deep/own/scale.h": "__device__ float own(int x) { return 2 * x; }\n"},
        further=("-I", "elsewhere/deep"),
    ),
}


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def init(folder: Path, *options: str) -> Done:
    return gi_cuda("init", "k.cu", "-o", "target", *options, cwd=folder)


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_says_what_to_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a target can be proposed of what was done."""
    case = REFUSALS[name]
    monkeypatch.chdir(tmp_path)
    write(tmp_path, case.files)
    message = refused(tmp_path, "k.cu", *case.options)
    for words in case.said:
        assert words in message
    write(tmp_path, case.mended)
    said(Path("k.cu"), Path("target"), *case.further)


@pytest.mark.parametrize("name", sweep(REFUSALS, "macro of the build"))
def test_the_remedy_works(name: str, tmp_path: Path) -> None:
    case = REFUSALS[name]
    write(tmp_path, case.files)
    done = init(tmp_path, *case.options)
    assert done.returncode == 2, done
    assert done.stderr.startswith("gi-cuda: error: ")
    assert "Traceback" not in done.stderr
    for words in case.said:
        assert words in done.stderr
    assert not (tmp_path / "target").exists()
    write(tmp_path, case.mended)
    done = init(tmp_path, *case.further)
    assert done.returncode == 0, done.stderr
    assert PASSES in done.stdout


@dataclass(frozen=True, slots=True)
class Accepted:
    """A source that is hard to read, and what is proposed for it.

    Attributes:
        files: by name; ``k.cu`` is given to ``init``.
        said: words that ``init`` prints.
        written: words of ``target.toml``.
        options: that are given as well.
    """

    files: Mapping[str, str]
    said: tuple[str, ...] = ()
    written: str = ""
    options: tuple[str, ...] = ()


(PARENT,) = REFUSALS["launches a kernel"].files.values()

ACCEPTED = {
    "one that launches kernels is passed over": Accepted(
        {
            "k.cu": f"{PARENT}int main() {{ float *a, *b; parent<<<4, 32>>>(a, b, 4096);"
            "parent<<<4, 32>>>(a, b, 4096); }\n"
        },
        ("passed over parent", "parent launches child itself", "chose child"),
    ),
    "parameters under a macro of the build": Accepted(
        {
            "k.cu": "__global__ void k(const float *a,\n#ifdef TWICE\n float *c,\n#endif\n"
            " float *b) {\n b[threadIdx.x] = a[threadIdx.x];\n#ifdef TWICE\n c[threadIdx.x] = 2;\n"
            "#endif\n}\n"
        },
        ("  c: float *, output",),
        options=("-D", "TWICE"),
    ),
    "the standard library of the device": Accepted(
        {
            "k.cu": "#include <cuda/std/array>\n#include <cuda/std/limits>\n"
            "#include <cuda/std/tuple>\n#include <cuda/std/atomic>\n#include <cuda/std/utility>\n"
            "__global__ void k(const float *a, float *b, int *count) {\n"
            " cuda::std::array<float, 2> by{1.0f, 2.0f};\n"
            " auto both ="
            " cuda::std::make_tuple(a[threadIdx.x], cuda::std::numeric_limits<int>::max());\n"
            " cuda::atomic_ref<int, cuda::thread_scope_device> seen(*count);\n"
            " if (cuda::std::get<1>(both) > 0)"
            " seen.fetch_add(1, cuda::std::memory_order_relaxed);\n"
            " b[threadIdx.x] = cuda::std::get<0>(both) * by[threadIdx.x % 2];\n}\n"
        }
    ),
    "assembly in a header that stays": Accepted(
        {
            "k.cu": '#define NAME first\n#include "sum.h"\n#undef NAME\n'
            '#define NAME second\n#include "sum.h"\n'
            "__global__ void k(const int *a, int *b) {\n"
            " b[threadIdx.x] = first(a[threadIdx.x], second(3, 4));\n}\n",
            "sum.h": "__device__ int NAME(int a, int b) {\n"
            ' int c;\n asm("add.s32 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));\n return c;\n}\n',
        }
    ),
    "host code that a header declares needs no types": Accepted(
        {
            "k.cu": '#include <missing.h>\n#include "k.h"\n'
            "__device__ float at(In a) { return 2 * a.x; }\n"
            "__global__ void k(const In *a, float *b) { b[threadIdx.x] = at(a[threadIdx.x]); }\n"
            "void launch(missing_type *a, float *b) { k<<<1, 32>>>(a, b); }\n",
            "k.h": "void launch(missing_type *a, float *b);\nstruct In { float x; };\n"
            "__device__ float at(In a);\n",
        }
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_target_is_proposed(name: str, tmp_path: Path) -> None:
    case = ACCEPTED[name]
    write(tmp_path, case.files)
    printed = "\n".join(said(tmp_path / "k.cu", tmp_path / "target", *case.options))
    for words in case.said:
        assert words in printed
    assert case.written in (tmp_path / "target" / "target.toml").read_text()


@broad
@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_proposed_passes(name: str, tmp_path: Path) -> None:
    case = ACCEPTED[name]
    write(tmp_path, case.files)
    done = init(tmp_path, *case.options)
    assert PASSES in done.stdout
    for words in case.said:
        assert words in done.stdout
    assert case.written in (tmp_path / "target" / "target.toml").read_text()


@broad
def test_clusters_are_for_gpus(tmp_path: Path) -> None:
    text = (
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
        "__global__ void __cluster_dims__(2, 1, 1) k(const float *a, float *b) {\n"
        " cg::cluster_group all = cg::this_cluster();\n all.sync();\n b[threadIdx.x] = a[0];\n}\n"
    )
    write(tmp_path, {"k.cu": text})
    done = init(tmp_path)
    assert "k.cu:3: k uses __cluster_dims__, and the host back end has no clusters" in done.stdout
    assert "--backend cuda" in done.stdout
    # One whose blocks do not talk to each other runs as if there were none.
    mended = "__global__ void __cluster_dims__(2, 1, 1) k(const float *a, float *b) { *b = *a; }\n"
    write(tmp_path / "alone", {"k.cu": mended})
    assert PASSES in init(tmp_path / "alone").stdout


@broad
def test_masks_that_leave_out_their_callers_are_done_as_devices_do(tmp_path: Path) -> None:
    text = (
        "__global__ void k(const float *a, float *b) {\n float v = a[threadIdx.x];\n"
        " v += __shfl_down_sync(0x0000ffff, v, 1);\n b[threadIdx.x] = v;\n}\n"
        "int main() { float *a, *b; k<<<1, 32>>>(a, b); }\n"
    )
    write(tmp_path, {"k.cu": text})
    done = init(tmp_path)
    assert f"{PASSES}; mended: masks taken as devices do" in done.stdout
    target = (tmp_path / "target" / "target.toml").read_text()
    assert '[warps]\nmasks = "device"' in target
    assert "# confirm: k, line 3: thread (16,0,0) of block (0,0,0)" in target
    target = target.replace('[warps]\nmasks = "device"\n', "")
    (tmp_path / "target" / "target.toml").write_text(target)
    done = gi_cuda("check", "target", cwd=tmp_path)
    assert done.returncode == 2
    assert "k.cu:3: the reference failed" in done.stderr
    assert 'write a table [warps] with masks = "device" into target.toml' in done.stderr


@broad
def test_a_target_says_how_a_missing_macro_is_given(tmp_path: Path) -> None:
    text = (
        "__global__ void k(const float *a, float *b) {\n __shared__ float s[TILE];\n"
        " s[threadIdx.x] = a[threadIdx.x];\n __syncthreads();\n"
        " b[threadIdx.x] = s[TILE - 1 - threadIdx.x];\n}\n"
        "int main() { float *a, *b; k<<<1, TILE>>>(a, b); }\n"
    )
    write(tmp_path, {"k.cu": text})
    done = init(tmp_path)
    assert "k.cu:2: the source does not compile: 'TILE' was not declared" in done.stdout
    assert 'define = { TILE = "VALUE" }' in done.stdout
    assert "gi-cuda init -D TILE=VALUE" in done.stdout
    (tmp_path / "target").rename(tmp_path / "first")
    assert PASSES in init(tmp_path, "-D", "TILE=64").stdout
    assert 'block = ["64"]' in (tmp_path / "target" / "target.toml").read_text()


@broad
def test_answers_that_are_nan_everywhere_are_refused(tmp_path: Path) -> None:
    def kernel(computed: str) -> str:
        return (
            "__global__ void k(const float *a, float *b) {\n __shared__ float s[257];\n"
            f" s[threadIdx.x] = a[threadIdx.x];\n b[threadIdx.x] = {computed};\n}}\n"
        )

    write(tmp_path, {"k.cu": kernel("s[threadIdx.x + 1]")})
    done = init(tmp_path)
    assert "b hold NaN wherever it writes them" in done.stdout
    assert "mend the kernel" in done.stdout
    (tmp_path / "target").rename(tmp_path / "first")
    write(tmp_path, {"k.cu": kernel("s[threadIdx.x]")})
    assert PASSES in init(tmp_path).stdout


def test_texture_references_are_said_to_be_gone(tmp_path: Path) -> None:
    text = (
        "texture<float, 1, cudaReadModeElementType> seen;\n"
        "__global__ void k(float *b) {\n b[threadIdx.x] = tex1Dfetch(seen, threadIdx.x);\n}\n"
    )
    write(tmp_path, {"k.cu": text})
    done = init(tmp_path)
    assert "texture references are gone since CUDA 12" in done.stdout
    assert "pass the kernel a cudaTextureObject_t" in done.stdout
