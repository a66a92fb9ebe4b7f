"""``gi-cuda init`` reads launches wherever they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gi_cuda.cli import app
from gi_cuda.init import from_options, propose
from gi_cuda.spec import load_target
from gi_cuda.subject import load_subject
from tests.integration.init.proposing import init, passes, refused, roles, said, sizes, tree
from tests.integration.init.test_init import of_the_source
from tests.sweeps import broad


def test_sizes_and_geometry_come_from_the_host_code(tmp_path: Path) -> None:
    target = init("jacobi.cu", tmp_path / "jacobi")
    (step,) = target.launches[0].steps
    assert [e.text for e in step.grid] == [
        "(width + BLOCK_X - 1) / BLOCK_X",
        "(height + BLOCK_Y - 1) / BLOCK_Y",
    ]
    assert [e.text for e in step.block] == ["BLOCK_X", "BLOCK_Y"]
    assert sizes(target) == {"in": "width * height", "out": "width * height"}
    assert roles(target) == {"in": "input", "out": "output"}
    found = {p.name: (p.kind, p.default) for p in of_the_source(target)}
    assert found == {"BLOCK_X": ("macro", 32), "BLOCK_Y": ("macro", 8), "USE_LDG": ("flag", 0)}
    assert target.constraints[0].that.text == "BLOCK_X * BLOCK_Y <= 1024"


def test_geometry_is_guessed_from_the_kernel_where_the_host_code_does_not_say(
    tmp_path: Path,
) -> None:
    (wave,) = init("wave.cu", tmp_path / "wave").launches[0].steps
    assert [e.text for e in wave.block] == ["BLOCK_DIM_X", "BLOCK_DIM_Y"]
    assert [e.text for e in wave.grid] == [
        "(nx + BLOCK_DIM_X - 1) / BLOCK_DIM_X",
        "(ny + BLOCK_DIM_Y - 1) / BLOCK_DIM_Y",
    ]


DOUBLE = """__global__ void twice(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= 2;
}
"""


DRIVER = """void go(float *a, int count) {
    int blocks = (count + 95) / 96;
    twice<<<blocks, 96>>>(a, count);
}
"""


@pytest.mark.parametrize("place", ["driver.cpp", "host/driver.cu", "../src/deep.cpp"])
def test_a_launch_in_another_file_is_found(place: str, tmp_path: Path) -> None:
    source = tmp_path / "kernels" / "twice.cu"
    driver = source.parent / place
    for path, text in ((source, DOUBLE), (driver, DRIVER)):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    said(source, tmp_path / "t")
    (step,) = load_target(tmp_path / "t").launches[0].steps
    assert ([e.text for e in step.grid], step.block[0].text) == (["(n + 95) / 96"], "96")
    assert f"As in line 3 of {place}" in (tmp_path / "t" / "target.toml").read_text()


def test_a_file_that_launches_is_read_with_its_headers(tmp_path: Path) -> None:
    source = tmp_path / "twice.cu"
    source.write_text(DOUBLE)
    (tmp_path / "sizes.h").write_text("#define THREADS 96\n")
    driver = '#include "sizes.h"\n' + DRIVER.replace("blocks, 96", "blocks, THREADS")
    (tmp_path / "driver.cpp").write_text(driver)
    said(source, tmp_path / "t")
    assert load_target(tmp_path / "t").launches[0].steps[0].block[0].text == "96"


def test_what_another_file_launches_by_is_no_parameter_at_once(tmp_path: Path) -> None:
    """A patch of the source would leave the launch as it is."""
    source = tmp_path / "twice.cu"
    source.write_text("#define BLOCK 96\n" + DOUBLE.replace("blockDim.x", "BLOCK"))
    driver = "#define BLOCK 96\n" + DRIVER.replace("blocks, 96", "blocks, BLOCK")
    (tmp_path / "driver.cpp").write_text(driver)
    said(source, tmp_path / "t")
    assert of_the_source(load_target(tmp_path / "t")) == []
    text = (tmp_path / "t" / "target.toml").read_text()
    assert "# Perhaps; driver.cpp launches the kernel and defines it as well" in text


def test_a_file_that_launches_can_be_named(tmp_path: Path) -> None:
    source, far = tmp_path / "a" / "twice.cu", tmp_path / "b" / "c" / "far.cpp"
    for path, text in ((source, DOUBLE), (far, DRIVER)):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    said(source, tmp_path / "t", "--host", str(far))
    (step,) = load_target(tmp_path / "t").launches[0].steps
    assert step.block[0].text == "96"
    message = refused(tmp_path, str(source), "--host", str(source))
    assert "twice.cu: there is no launch of twice in this file" in message
    assert "cannot read" in refused(tmp_path, str(source), "--host", str(tmp_path / "no.cpp"))


NUMBERS = """int main(int argc, char **argv) {{
    int n = 100000, threads = atoi(argv[1]);
    float *a;
    cudaMalloc(&a, n * sizeof(float));
    {launch}
}}
"""


def test_what_only_a_run_tells_is_assumed_and_said(tmp_path: Path) -> None:
    source = tmp_path / "twice.cu"
    launch = "twice<<<(n + threads - 1) / threads, threads, 3 * threads * sizeof(double)>>>(a, n);"
    source.write_text(DOUBLE + NUMBERS.format(launch=launch))
    said(source, tmp_path / "t")
    (step,) = load_target(tmp_path / "t").launches[0].steps
    assert (step.grid[0].text, step.block[0].text) == ("(n + 128 - 1) / 128", "128")
    assert step.shared.text == "3 * 128 * 8"
    text = (tmp_path / "t" / "target.toml").read_text()
    assert "FILL IN: what only a run of the host code tells; assumed: threads = 128." in text


WINDOW = """__global__ void window(const float *in, float *out, int M, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N - M + 1) {
        float s = 0.0f;
        for (int k = 0; k < M; k++) s += in[i + k];
        out[i] = s;
    }
}
int main() {
    int M = 10, N = 100000;
    float *in, *out;
    cudaMalloc(&in, sizeof(float) * N);
    cudaMalloc(&out, sizeof(float) * (N - M + 1));
    window<<<(N - M + 1 + 255) / 256, 256>>>(in, out, M, N);
}
"""


SHARED = """#define ROW 17
__global__ void rows(const float *in, float *out, int n) {
    extern __shared__ double s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < ROW; k++) s[threadIdx.x * ROW + k] = 0.0;
    if (i < n) out[i] = in[i] + (float)s[threadIdx.x * ROW];
}
int main(int argc, char **argv) {
    int n = 100000, wgs = atoi(argv[1]);
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    rows<<<(n + wgs - 1) / wgs, wgs, ROW * wgs * sizeof(double)>>>(in, out, n);
}
"""


TABLES = """#define ROWS 3
__global__ void blend(const int *order, const float *weights, float *out, int count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0.0f;
    for (int k = 0; k < count; k++) s += (i % 7) * weights[order[k]];
    out[i] = s;
}
int main() {
    const int n = 100000, order[] = {250, 13, 41, 199, 200};
    float weights[ROWS][1 << 7], *out, *d_weights;
    int *d_order, count = sizeof(order) / sizeof(order[0]);
    cudaMalloc(&out, n * sizeof(float));
    cudaMalloc(&d_order, sizeof(order));
    cudaMalloc(&d_weights, sizeof weights);
    cudaMemcpy(d_order, order, sizeof(order), cudaMemcpyHostToDevice);
    blend<<<(n + 255) / 256, 256>>>(d_order, d_weights, out, count, n);
}
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(WINDOW, id="window"),
        pytest.param(SHARED, marks=broad, id="shared memory"),
        pytest.param(TABLES, id="tables"),
    ],
)
def test_launches_that_are_hard_to_read_pass_check(text: str, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(text)
    said(source, tmp_path / "target")
    passes(tmp_path / "target", tmp_path / "scratch")


TEMPLATE = """
template <typename T, int THREADS> __global__ void bump(T *a, int n) {
  __shared__ T part[THREADS];
  int i = blockIdx.x * THREADS + threadIdx.x;
  part[threadIdx.x] = i < n ? a[i] : 0;
  __syncthreads();
  if (i < n) a[i] = part[threadIdx.x] + 1;
}
int main() {
  const int threads = 64, n = 10000;
  float *a;
  cudaMalloc(&a, n * sizeof *a);
  bump<float, threads><<<(n + threads - 1) / threads, threads>>>(a, n);
}
"""


def test_a_constant_of_host_code_varies_the_block_and_the_instance(tmp_path: Path) -> None:
    source = tmp_path / "bump.cu"
    source.write_text(TEMPLATE)
    done = CliRunner().invoke(app, ["init", str(source), "-o", str(tmp_path / "t")])
    assert done.exit_code == 0, done.output
    target = load_target(tmp_path / "t")
    assert target.kernels == ("bump<float, threads>",)
    # Values with which the kernel was wrong would be gone.
    found = {p.name: (p.kind, p.values) for p in of_the_source(target)}
    assert found == {"threads": ("constant", (32, 64, 128, 256))}
    passes(tmp_path / "t", tmp_path / "scratch")
    subject = load_subject(tmp_path / "t", "host")
    diff = subject.diff(subject.read("threads=128"))
    assert "+  const int threads = 128, n = 10000;" in diff


SORT = """const unsigned WIDE = 512;
__global__ void local(float *a) { a[blockIdx.x * WIDE + threadIdx.x] += 1; }
__global__ void merge(float *a, int n, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; a[2 * i] += size; }
__global__ void odd(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += 1; }
int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1 << 14; float *a;
  cudaMalloc(&a, n * sizeof *a);
  local<<<n / WIDE, WIDE / 2>>>(a);
  for (int size = 2 * WIDE; size <= n; size <<= 1) merge<<<n / 512, 256>>>(a, n, size);
  odd<<<guess(), WIDE / 2>>>(a, n);
}
"""


@pytest.mark.parametrize(
    ("kernel", "grid"),
    [
        ("local", "n / WIDE"),
        ("merge", "n / 512"),
        ("odd", "(n + (WIDE / 2) - 1) / (WIDE / 2)"),
    ],
)
def test_every_case_of_a_launch_has_a_block(tmp_path: Path, kernel: str, grid: str) -> None:
    source = tree(tmp_path, {"sort.cu": SORT})
    done = CliRunner().invoke(
        app, ["init", str(source), "--no-trial", "--kernel", kernel, "-o", str(tmp_path / "t")]
    )
    assert done.exit_code == 0, done.output
    target = load_target(tmp_path / "t")
    (step,) = target.launches[0].steps
    assert [e.text for e in step.grid] == [grid]
    assert sizes(target) == {"a": "n"}
    for case in target.cases:
        assert set(case.args) == {"seed", "n"}
        assert step.grid[0].evaluate({"n": case.args["n"], "WIDE": 512}) >= 1
    marked = (tmp_path / "t" / "data.py").read_text().splitlines()
    (listed,) = (one for one in done.output.splitlines() if one.startswith("to be filled in"))
    assert all(
        f"data.py:{number}" in listed for number, line in enumerate(marked, 1) if "FILL IN" in line
    )
    assert "data.py:1," in f"{listed},"


def test_guarded_macros_of_a_block_are_parameters_that_the_launch_is_written_with(
    tmp_path: Path,
) -> None:
    source = tmp_path / "flip.cu"
    source.write_text(
        "#ifndef TX\n#define TX 16\n#endif\n#ifndef TY\n#define TY 8\n#endif\n"
        "enum { PER = 2 };\n"
        "__global__ void flip(float *a, int w, int h) {\n"
        "    int x = blockIdx.x * TX + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "    if (x < w && y < h) a[y * w + x] *= -1; }\n"
        "void run(float *a, int w, int h) {\n"
        "    dim3 block(TX, TY), grid((w + TX - 1) / TX, PER * h / TY);\n"
        "    flip<<<grid, block>>>(a, w, h); }\n"
    )
    said(source, tmp_path / "t")
    target = load_target(tmp_path / "t")
    assert {p.name: (p.default, p.values) for p in of_the_source(target)} == {
        "TX": (16, (8, 16, 32)),
        "TY": (8, (4, 8, 16)),
    }
    (step,) = target.launches[0].steps
    assert [e.text for e in step.block] == ["TX", "TY"]
    assert [e.text for e in step.grid] == ["(w + TX - 1) / TX", "2 * h / TY"]
    assert [c.that.text for c in target.constraints] == ["TX * TY <= 1024"]


@pytest.mark.parametrize("blocks", ["batch", "(batch + 3) / 4"])
def test_blocks_of_which_the_host_code_has_the_number_from_elsewhere_are_two(
    tmp_path: Path, blocks: str
) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__global__ void k(float *a, int n) {"
        " int i = blockIdx.x * 8 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;"
        " if (i < n && j < n) a[(blockIdx.z * n + j) * n + i] = 1; }\n"
        "void run(float *a, int n, int batch) { dim3 block(8, 8);"
        f" dim3 grid((n + 7) / 8, n / 8, {blocks});"
        " k<<<grid, block>>>(a, n); }\n"
    )
    found = propose(source, None, from_options((), ())).launching
    assert found.grid == ("(n + 7) / 8", "n / 8", "2")
    assert found.assumed == {blocks: "2"}


ROWS = """
__global__ void centre(float *out, float *means, const float *in, int rows, int width) {
    float sum = 0;
    for (int i = 0; i < width; i++) sum += in[blockIdx.x * width + i];
    if (threadIdx.x == 0) means[blockIdx.x] = sum / width;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[blockIdx.x * width + i] = in[blockIdx.x * width + i] - sum / width;
}
void run(float *out, float *means, const float *in, int batch, int steps, int width) {
    const int rows = batch * steps;
    centre<<<rows, 64>>>(out, means, in, rows, width);
}
int main() {
    int batch = 4, steps = 512, width = 96;
    float *out, *means, *in;
    cudaMalloc(&out, batch * steps * width * sizeof(float));
    cudaMalloc(&means, batch * steps * sizeof(float));
    cudaMalloc(&in, batch * steps * width * sizeof(float));
    run(out, means, in, batch, steps, width);
}
"""


def test_sizes_are_told_by_a_count_that_a_wrapper_computes_of_constants(tmp_path: Path) -> None:
    target = init(str(tree(tmp_path, {"rows.cu": ROWS})), tmp_path / "target")
    assert sizes(target) == {"out": "rows * width", "means": "rows", "in": "rows * width"}
    assert [e.text for e in target.launches[0].steps[0].grid] == ["rows"]
