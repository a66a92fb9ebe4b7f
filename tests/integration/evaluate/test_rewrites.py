"""Checks of rewritten kernels in isolated workers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.backends.host.running.isolation import isolation
from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.backends.protocol.requests import Measure
from gi_cuda.backends.protocol.variants import BuildFailure
from gi_cuda.backends.workers.pool import Lost
from gi_cuda.evaluate.candidates import Candidate, build_candidates, unmodified
from gi_cuda.evaluate.reference.baseline import compile_reference, record_reference
from gi_cuda.evaluate.scrutiny.objections import Objection, Ruling
from gi_cuda.results.measurement import Measurement
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import load_subject
from tests.conftest import TARGETS

BEGIN = "    int waste = 0;\n"

isolated = pytest.mark.skipif(
    "seccomp" not in isolation() or "Landlock" not in isolation(),
    reason="the system isolates no processes",
)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    subject, folder = load_subject(TARGETS / "scale", "host"), tmp_path_factory.mktemp("rewrites")
    with open_tools(subject, folder, workers=1, jobs=1, isolated=True) as opened:
        place = opened.scratch("recorded")
        (binary,) = compile_reference(subject, opened.compiler, [subject.reference], place)
        program = unmodified(subject).program(binary, opened.session.cases)
        record_reference(subject, opened.pool, program, opened.reference)
        yield opened


def rewritten(tools: Tools, body: str, before: str = "") -> Candidate:
    """The reference with something more at its begin."""
    whole = unmodified(tools.subject)
    assert BEGIN in whole.text
    return replace(whole, text=before + whole.text.replace(BEGIN, BEGIN + body))


def ruled(found: list[Objection | None]) -> tuple[Ruling, str, str]:
    (one,) = found
    assert one is not None
    return one.ruling, one.code, one.said


# -- what its text and code say ------------------------------------------------------------------


def test_a_host_function_makes_a_rewrite_invalid(tools: Tools) -> None:
    one = rewritten(tools, '    if (getenv("NEVER_SET")) return;\n')
    ruling, code, said = ruled(tools.certification.device_code.objections([one]))
    assert (ruling, code) == (Ruling.INVALID, "not-device-code")
    assert said == "its device code uses what no device has: getenv"


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no compiler for GPUs")
def test_a_compiler_for_gpus_has_a_say(tools: Tools) -> None:
    one = rewritten(tools, "    if (ours(n) < 0) return;\n", "int ours(int n) { return n; }\n")
    ruling, code, said = ruled(tools.certification.device_code.objections([one]))
    assert (ruling, code) == (Ruling.INVALID, "not-device-code")
    assert said.startswith("a compiler for GPUs does not take it: kernel.cu:22: calling a __host__")


def test_a_new_variable_that_it_writes_leaves_a_rewrite_unverified(tools: Tools) -> None:
    one = rewritten(tools, "    mine += 0 * calls++;\n", "__device__ int calls;\n")
    one = replace(one, text=one.text.replace("0 * calls++", "calls++ < 0"))
    ruling, code, said = ruled(tools.certification.device_code.objections([one]))
    assert (ruling, code) == (Ruling.UNVERIFIED, "new-device-state")
    assert said.startswith("it writes calls, which the original does not have")


def test_code_that_no_case_reaches_leaves_a_rewrite_unverified(tools: Tools) -> None:
    one = rewritten(tools, "    auto far = [=] { return n > 1 << 30; };\n    if (far()) return;\n")
    ruling, code, said = ruled(tools.certification.not_reached.objections([one]))
    assert (ruling, code) == (Ruling.UNVERIFIED, "code-not-reached")
    assert said == "no case makes kernel.cu:22 (far()) true"


def test_what_no_case_reaches_in_the_original_either_is_not_told(tools: Tools) -> None:
    whole = unmodified(tools.subject)
    assert "if (waste == 123456789)" in whole.text
    assert tools.certification.not_reached.objections([whole]) == [None]


def test_other_code_behind_a_condition_that_no_case_reaches_is_told(tools: Tools) -> None:
    whole = unmodified(tools.subject)
    one = replace(whole, text=whole.text.replace("mine = 0;\n    if (at", "mine = 7;\n    if (at"))
    assert one.text != whole.text
    _, _, said = ruled(tools.certification.not_reached.objections([one]))
    assert said == "no case makes kernel.cu:29 (waste == 123456789) true"


def test_a_condition_that_no_case_reaches_may_not_be_left_out(tools: Tools) -> None:
    whole = unmodified(tools.subject)
    one = replace(whole, text=whole.text.replace("if (waste == 123456789)", "if (false)"))
    assert one.text != whole.text
    ruling, _, said = ruled(tools.certification.not_reached.objections([one]))
    assert ruling is Ruling.UNVERIFIED
    assert "(waste == 123456789) true, and the rewrite leaves it out" in said


def test_code_that_substitutes_for_inputs_reach_is_reached(tools: Tools) -> None:
    for condition in ("in[0] == 0", "n > 7000"):  # zeros in its input; a size near its number
        one = rewritten(tools, f"    if ({condition})\n        waste = 0;\n")
        assert tools.certification.not_reached.objections([one]) == [None]


def test_a_way_that_some_macro_closes_is_not_told(tools: Tools) -> None:
    one = rewritten(tools, "    if (BLOCK > 512 && n > 5000) return;\n")
    assert tools.certification.not_reached.objections([one]) == [None]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("#if __CUDA_ARCH__ < 700", None),
        ("#if 0", None),
        ("#if __CUDA_ARCH__ >= 900", "only other devices are given kernel.cu:22 (return;)"),
        ("#if __CUDACC_VER_BUILD__", "only other devices are given kernel.cu:22 (return;)"),
    ],
)
def test_code_for_other_devices_leaves_a_rewrite_unverified(
    tools: Tools, condition: str, said: str | None
) -> None:
    one = rewritten(tools, f"{condition}\n    return;\n#endif\n")
    (found,) = tools.certification.not_reached.objections([one])
    assert (found and found.said) == said


def test_a_local_that_a_loop_carries_is_found_by_another_value_in_it(tools: Tools) -> None:
    text = "    int most;\n    for (int i = 0; i < n; i++) most = max(most, in[i]);\n"
    one = rewritten(tools, f"{text}    if (most > 1 << 30) mine = 1;\n")
    one = replace(one, text=one.text.replace("out[at] = mine;", "out[at] = mine + (most >> 30);"))
    said = tools.certification.unset_locals.objection(one)
    assert said.startswith("it reads most, which it does not always set: with other values there")


# -- what its process can reach ------------------------------------------------------------------


def run(tools: Tools, body: str) -> Measurement | Lost:
    """Run the reference with a statement added at its beginning, for the first thread alone."""
    one = rewritten(tools, f"    if (at == 0) {{ {body} }}\n")
    (built,) = build_candidates(tools.compiler, [one], tools.scratch("rewritten"))
    assert not isinstance(built, BuildFailure), built.message
    (reference,) = build_candidates(
        tools.compiler, [unmodified(tools.subject)], tools.scratch("reference")
    )
    assert not isinstance(reference, BuildFailure)
    cases = tools.session.cases
    base = unmodified(tools.subject).program(reference, cases)
    sampling = Sampling(limit=10.0).untimed()
    answer: Measurement | Lost = tools.pool.one(Measure(one.program(built, cases), base, sampling))
    return answer


def if_it_opens(path: Path, mode: str) -> str:
    """Text that makes answers wrong if a file can be opened."""
    return f'if (FILE *file = fopen("{path}", "{mode}")) {{ fclose(file); out[1] = 7; return; }}'


@isolated
def test_a_kernel_reads_no_answers_and_no_other_files(tools: Tools) -> None:
    answers = sorted(tools.reference.iterdir())
    assert answers
    body = "".join(if_it_opens(path, "rb") for path in (*answers, TARGETS / "scale" / "data.py"))
    answer = run(tools, body)
    assert isinstance(answer, Measurement)
    assert answer.correct


@isolated
def test_a_kernel_writes_no_file(tools: Tools, tmp_path: Path) -> None:
    answer = run(tools, if_it_opens(tmp_path / "memo", "wb"))
    assert isinstance(answer, Measurement)
    assert answer.correct
    assert not list(tmp_path.iterdir())


@isolated
def test_a_kernel_that_starts_a_process_ends(tools: Tools) -> None:
    answer = run(tools, 'std::system("true");')
    assert isinstance(answer, Lost)
    assert answer.message == "SIGSYS: it asks the system for what no device has"


def test_a_file_that_may_be_read_makes_the_same_kernel_wrong(tools: Tools) -> None:
    answer = run(tools, if_it_opens(Path("/dev/null"), "rb"))
    assert isinstance(answer, Measurement)
    assert not answer.correct


@isolated
def test_an_oracle_of_the_targets_own_judges_in_an_isolated_process(tmp_path: Path) -> None:
    subject = load_subject(TARGETS / "images", "host")
    with open_tools(subject, tmp_path, workers=1, jobs=1, isolated=True) as opened:
        base = unmodified(subject)
        (built,) = build_candidates(opened.compiler, [base], opened.scratch("reference"))
        assert not isinstance(built, BuildFailure)
        program = base.program(built, opened.session.cases)
        record_reference(subject, opened.pool, program, opened.reference)
        answer = opened.pool.one(Measure(program, program, Sampling(limit=10.0).untimed()))
    assert isinstance(answer, Measurement)
    assert answer.correct
