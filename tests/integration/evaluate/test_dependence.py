"""Variants that ignore an input are detected, however little it changes the results."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.backends.job_threads import at_once
from gi_cuda.backends.protocol.substitutes import Substitute
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.errors import MachineError
from gi_cuda.evaluate.candidates import Candidate, candidate, unmodified
from gi_cuda.evaluate.scrutiny.inputs.originals import Patience
from gi_cuda.evaluate.scrutiny.objections import Ruling
from gi_cuda.evaluate.scrutiny.processor_watch import ProcessorWatch
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import Subject, load_subject
from tests.conftest import TARGETS

TUNING = Path(__file__).parents[3] / "targets" / "tuning"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    subject = load_subject(TARGETS / "inputs", "host")
    with open_tools(subject, tmp_path_factory.mktemp("inputs"), workers=1, jobs=1) as opened:
        yield opened


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "the same with zeros in place of the input kind"),
        (2, "the same with zeros in place of the input trail"),
        (3, "the same with a quarter more in place of the input lean"),
        (4, "with a quarter more in place of the input gain it is wrong"),
    ],
)
def test_an_input_that_is_left_out_is_named(tools: Tools, number: int, said: str) -> None:
    """Its answers are the same, or such that the oracle refuses them anyway."""
    variant = candidate(tools.subject, tools.subject.read(f"LEFT_OUT={number}"))
    assert said in tools.certification.dependence.objection(variant)


def test_workers_of_its_own_answer_while_a_search_needs_the_others(tools: Tools) -> None:
    """The shared workers are closed here, so only its own can answer."""
    variant = candidate(tools.subject, tools.subject.read("LEFT_OUT=3"))
    nobody = Pool[int](tools.session, Crew(1))
    nobody.close()
    shared = replace(tools.certification.dependence, pool=nobody, _opened=[], _originals={})
    with pytest.raises(OSError, match="closed"):
        shared.objection(variant)
    with ExitStack() as opened:
        own = Pool[int](tools.session, Crew(1))
        alone = replace(shared, alone=lambda: opened.enter_context(own), _opened=[], _originals={})
        at_once([alone.ask_reference_meanwhile, alone.ask_reference_meanwhile])
        assert "a quarter more in place of the input lean" in alone.objection(variant)


def test_without_time_two_things_are_tried_for_each_input_and_the_rest_is_said(
    tools: Tools,
) -> None:
    """So what is right for numbers of one sign alone is told; what the rest would tell is not."""
    shared = tools.certification.dependence
    hasty = replace(shared, patience=Patience(seconds=0.0), _originals={})
    assert "numbers of both signs" in hasty.objection(edited(tools, 7))
    (found,) = hasty.findings([unmodified(tools.subject)])
    assert {one.code for one in found} == {"not-tried"}
    (all_tried,) = shared.findings([unmodified(tools.subject)])
    assert "not-tried" not in {one.code for one in all_tried}


def test_without_room_for_workers_of_its_own_the_others_answer(tools: Tools) -> None:
    def no_room() -> Pool[int]:
        raise MachineError("no room")

    shared = tools.certification.dependence
    alone = replace(shared, alone=no_room, _opened=[], _originals={})
    with pytest.raises(MachineError):
        alone.ask_reference_meanwhile()
    variant = candidate(tools.subject, tools.subject.read("LEFT_OUT=3"))
    assert "a quarter more in place of the input lean" in alone.objection(variant)


def edited(tools: Tools, number: int) -> Candidate:
    """The source as if it had been edited in one of its ways."""
    whole = unmodified(tools.subject)
    return replace(whole, text=whole.text.replace(f"#if LEFT_OUT == {number}\n", "#if 1\n"))


def test_a_parameter_may_read_the_same_from_elsewhere(tools: Tools) -> None:
    variant = candidate(tools.subject, tools.subject.read("LEFT_OUT=8"))
    assert tools.certification.dependence.objection(variant) == ""


def test_a_parameter_may_read_the_same_from_constant_memory(tmp_path: Path) -> None:
    subject = load_subject(TUNING / "convolution_2d", "host")
    with open_tools(subject, tmp_path, workers=1, jobs=1) as opened:
        look = opened.certification.dependence
        assert look.objection(candidate(subject, subject.read("WEIGHTS=2"))) == ""
        # An edit is held against that configuration.
        variant = candidate(subject, subject.read("WEIGHTS=2"))
        pixel = "LOAD(image + y * columns + x)"
        assert pixel in variant.text
        positive = replace(variant, text=variant.text.replace(pixel, f"fabsf({pixel})"))
        assert "of both signs in place of the input image it is wrong" in look.objection(positive)


def test_one_of_two_equal_numbers_that_is_taken_for_the_other_is_told(tools: Tools) -> None:
    variant = edited(tools, 6)
    told = "with a quarter more in place of the input gain it is wrong: held-out: trail[0] is "
    assert tools.certification.dependence.objection(variant).startswith(told)


def test_what_is_right_for_numbers_of_one_sign_alone_is_told(tools: Tools) -> None:
    variant = edited(tools, 7)
    told = "with other numbers of both signs in place of the input in it is wrong: held-out: trail["
    assert tools.certification.dependence.objection(variant).startswith(told)


def test_what_is_right_for_real_numbers_below_one_alone_is_told(tools: Tools) -> None:
    whole, most = unmodified(tools.subject), "        part += in[i] > 1.0f ? 1.0f : in[i];\n"
    assert "        part += in[i];\n" in whole.text
    variant = replace(whole, text=whole.text.replace("        part += in[i];\n", most))
    told = "with five times as much in place of the input in it is wrong: "
    assert tools.certification.dependence.objection(variant).startswith(told)


def test_what_overflows_where_the_reference_does_not_is_told(tools: Tools) -> None:
    """A softmax that does not subtract the largest value overflows; up to 88 it is right."""
    whole, unsafe = unmodified(tools.subject), "        part += logf(expf(in[i]));\n"
    variant = replace(whole, text=whole.text.replace("        part += in[i];\n", unsafe))
    told = "with a thousand times as much in place of the input in it is wrong: held-out: trail["
    said = tools.certification.dependence.objection(variant)
    assert said.startswith(told)
    assert "is inf, expected " in said


def test_what_is_right_for_small_numbers_alone_is_told(tools: Tools) -> None:
    told = "with half of it in the upper half as well in place of the input range it is wrong: "
    whole = unmodified(tools.subject)
    variant = replace(whole, text=whole.text.replace("#if LEFT_OUT != 9\n", "#if 0\n"))
    assert tools.certification.dependence.objection(variant).startswith(told)


def test_a_limit_that_no_case_reaches_is_not_left_out(tools: Tools) -> None:
    variant = candidate(tools.subject, tools.subject.read("LEFT_OUT=5"))
    (found,) = tools.certification.dependence.findings([variant])
    assert any("with 1 in place of the input most" in one.said for one in found)


def test_what_uses_all_of_them_is_not_told(tools: Tools) -> None:
    assert tools.certification.dependence.objection(unmodified(tools.subject)) == ""


ORACLE = """
import numpy as np


def judge(case, outputs, reference):
    trail, expected = outputs["trail"], reference["trail"]
    assert case["n"] == trail.size
    return float(np.any(np.abs(trail - expected) > 1e-5))
"""


def test_an_oracle_may_have_nothing_to_say_to_other_inputs(tmp_path: Path) -> None:
    """Then nobody tells whether other answers are wrong ones."""
    folder = shutil.copytree(TARGETS / "inputs", tmp_path / "inputs")
    file = folder / "target.toml"
    tolerance = 'kind = "tolerance"\nabsolute = 1e-5'
    assert tolerance in file.read_text()
    own = 'kind = "python"\nfunction = "oracle.py:judge"'
    file.write_text(file.read_text().replace(tolerance, own))
    (folder / "oracle.py").write_text(ORACLE)
    subject = load_subject(folder, "host")
    with open_tools(subject, tmp_path / "scratch", workers=1, jobs=1) as tools:
        whole, some = unmodified(subject), "trail[i] = part + (n < 1000 ? 1.0f : 0.0f);"
        assert whole.text.count("trail[i] = part;") == 1
        variant = replace(whole, text=whole.text.replace("trail[i] = part;", some))
        assert tools.certification.dependence.objection(variant) == ""


def test_what_leaves_out_products_with_0_leaves_infinities_out(tmp_path: Path) -> None:
    folder = shutil.copytree(TARGETS / "inputs", tmp_path / "inputs")
    (source,) = folder.glob("*.cu")
    plain, product = "        part += in[i];\n", "        part += in[i] * copy[i];\n"
    assert plain in source.read_text()
    source.write_text(source.read_text().replace(plain, product))
    subject = load_subject(folder, "host")
    with open_tools(subject, tmp_path / "scratch", workers=1, jobs=1) as tools:
        whole = unmodified(subject)
        skipped = whole.text.replace(product, f"        if (in[i] != 0.0f)\n    {product}")
        variant = replace(whole, text=skipped)
        assert tools.certification.dependence.objections([variant], thorough=True) == [None]
        (found,) = tools.certification.dependence.findings([variant])
        (told,) = (one for one in found if "zeros in place of in, some infinities" in one.said)
        assert (told.ruling, told.code) == (Ruling.UNVERIFIED, "special-values")
        assert "in place of copy it is wrong: held-out: trail[" in told.said


PAIRS = """
__global__ void pairs(const float *in, float *out, int width, int n) {
    __shared__ float part[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < width)
        part[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = (part[threadIdx.x] + part[63 - threadIdx.x]) * width;
}
"""

OF_PAIRS = """
[target]
name = "pairs"
source = "kernel.cu"
kernels = ["pairs"]

[[buffer]]
name = "in"
type = "float32"
size = "n"
role = "input"

[[buffer]]
name = "out"
type = "float32"
size = "n"
role = "output"

[[scalar]]
name = "width"
type = "int32"

[[scalar]]
name = "n"
type = "int32"

[[launch]]
kernel = "pairs"
grid = "n / 64"
block = "64"
args = ["in", "out", "width", "n"]

[oracle]
kind = "tolerance"
absolute = 1e-5

[[case]]
name = "train"
role = "train"
args = { seed = 1, n = 512 }

[[case]]
name = "held-out"
role = "held-out"
args = { seed = 2, n = 256 }
"""

DATA = """
import numpy as np


def case(seed, n):
    values = np.random.default_rng(seed).random(n, dtype=np.float32)
    return {"in": values, "width": 64, "n": n}
"""


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("if (threadIdx.x < width)", "if (threadIdx.x < 64)", ""),
        ("part[threadIdx.x] = in[i];", "part[threadIdx.x] = in[i] + (in[i] < 0);", "of both signs"),
    ],
)
def test_a_size_that_the_source_is_not_made_for_tells_nothing_of_others(
    before: str, after: str, told: str, tmp_path: Path
) -> None:
    """The source itself adds uninitialized shared memory at half a block's width."""
    for name, text in (("kernel.cu", PAIRS), ("target.toml", OF_PAIRS), ("data.py", DATA)):
        (tmp_path / name).write_text(text.lstrip())
    subject = load_subject(tmp_path, "host")
    with open_tools(subject, tmp_path / "scratch", workers=1, jobs=1) as tools:
        whole = unmodified(subject)
        assert before in whole.text
        variant = replace(whole, text=whole.text.replace(before, after))
        said = tools.certification.dependence.objection(variant)
        assert told in said if told else not said, said


@pytest.mark.parametrize(
    ("first", "restrict", "told"),
    [("out[i] = 0.0f;", "", True), ("out[i] = 0.0f;", "__restrict__ ", False), ("", "", False)],
)
def test_what_reads_an_input_after_it_wrote_an_output_is_no_good_in_place(
    first: str, restrict: str, told: bool, tmp_path: Path
) -> None:
    """All of the source's reads come before its writes; a source may rule such a use out."""
    text = PAIRS.replace("*out", f"*{restrict}out")
    for name, content in (("kernel.cu", text), ("target.toml", OF_PAIRS), ("data.py", DATA)):
        (tmp_path / name).write_text(content.lstrip())
    subject = load_subject(tmp_path, "host")
    with open_tools(subject, tmp_path / "scratch", workers=1, jobs=1) as tools:
        whole, plain = unmodified(subject), "out[i] = (part[threadIdx.x]"
        assert plain in whole.text
        late = whole.text.replace(plain, f"{first} out[i] = (in[i]")
        (found,) = tools.certification.dependence.findings([replace(whole, text=late)])
        codes = [one.code for one in found if "out in the memory of the input in" in one.said]
        assert codes == ["in-place"] * told, found


ROWS = """
__global__ void pairs(const int *in, int *out, int width, int n) {
    int row = blockIdx.x;
    out[row * width + threadIdx.x] = in[row * width + threadIdx.x] + row;
}
"""


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ("int row = gridDim.x - 1 - blockIdx.x;", ""),
        ("int row = blockIdx.x; width = 64;", "left out"),
    ],
)
def test_a_size_with_which_threads_write_where_others_do_tells_nothing(
    after: str, told: str, tmp_path: Path
) -> None:
    """Rows overlap at half their width, and results depend on the order of writes."""
    subject = of_rows(tmp_path, "host")
    with open_tools(subject, tmp_path / "scratch", workers=1, jobs=1) as tools:
        whole = unmodified(subject)
        text = whole.text.replace("int row = blockIdx.x;", after)
        said = tools.certification.dependence.objection(replace(whole, text=text))
        assert told in said if told else not said, said


def test_with_which_sizes_that_is_so_on_a_gpu_a_processor_tells(tmp_path: Path) -> None:
    """It can choose the order of threads."""
    elsewhere = ProcessorWatch(of_rows(tmp_path, "cuda"), tmp_path / "scratch", 1)
    asked = [("width", Substitute.HALF), ("width", Substitute.ONE), ("n", Substitute.HALF)]
    assert elsewhere.unsettled(asked) == {"width"}


def of_rows(folder: Path, backend: str) -> Subject:
    """A target of rows of a matrix."""
    whole_numbers = OF_PAIRS.replace("float32", "int32").replace(
        '"tolerance"\nabsolute = 1e-5', '"exact"'
    )
    data = DATA.replace("random(n, dtype=np.float32)", "integers(0, 99, n, dtype=np.int32)")
    for name, text in (("kernel.cu", ROWS), ("target.toml", whole_numbers), ("data.py", data)):
        (folder / name).write_text(text.lstrip())
    return load_subject(folder, backend)


def test_what_objects_can_ask_others_for_the_same_alone(tmp_path: Path) -> None:
    subject = of_rows(tmp_path, "host")
    with open_tools(subject, tmp_path / "scratch", workers=1, jobs=1) as tools:
        whole, dependence = unmodified(subject), tools.certification.dependence
        left_out = replace(whole, text=whole.text.replace("int row", "width = 64;\n    int row"))
        other = replace(whole, text=whole.text.replace("in[row", "0 * in[row"))
        one, two, none = dependence.objections([left_out, other, whole])
        assert one is not None
        assert two is not None
        assert none is None
        assert one.said == dependence.objection(left_out)
        assert list(one.look([other, left_out, whole])) == ["", one.said, ""]
        assert list(two.look([other, left_out])) == [two.said, ""]
        again, *_ = dependence.objections([left_out])
        assert again == one
