"""The code measured for a parameter's value is the code of the patched file, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gi_cuda.backends.compile.preprocess import normalised
from gi_cuda.backends.protocol.variants import BuildFailure, Variant
from gi_cuda.backends.table import open_compiler
from gi_cuda.errors import UserError
from gi_cuda.evaluate.checks.other_kernels import unseen_kernels, used_elsewhere
from gi_cuda.evaluate.checks.parameters.defaults import check_defaults
from gi_cuda.subject import Subject, load_subject
from gi_cuda.subject.patches import new_defaults
from tests.integration.evaluate.conftest import BODY, Make, parameter

TIMES = parameter("TIMES", "[2, 4, 8]", 4)
FAST = parameter("FAST", "", 0, "flag")
BRANCHES = """\
/* What it was:
#define TIMES 1
*/
#if __cplusplus < 201103L
#define TIMES 3
#elif defined(FAST)
#  define TIMES 8
#else
#define TIMES 4
#endif
static const char *const note = R"(
#define TIMES 5
)";"""
ANOTHER = (
    "#define TIMES 4\n__device__ int first() { return TIMES; }\n#undef TIMES\n#define TIMES 4\n"
)
UNDEFINED = "#ifdef TIMES\n#error no\n#endif\n#undef TIMES\n#define TIMES 4"
GUARDED = "#ifdef FAST\n#ifndef TIMES\n#define TIMES 8\n#endif\n#endif\n"


def measured(subject: Subject, genotype: str) -> str:
    """The device code that is measured, as its preprocessor leaves it."""
    configuration = subject.read(genotype).configuration
    variant = Variant(0, subject.reference, subject.macros(configuration))
    found = open_compiler(subject, 1).preprocess([variant])[0]
    assert not isinstance(found, BuildFailure)
    return normalised(found.text)


def patched(subject: Subject, genotype: str, folder: Path) -> str:
    """The same of the patched file alone, in the user's compiler."""
    (folder / "patched.cu").write_text(subject.upstream(subject.read(genotype)).text)
    compiler = shutil.which("g++") or shutil.which("clang++")
    assert compiler is not None
    said = subprocess.run(
        [compiler, "-E", "-x", "c++", "patched.cu"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return normalised(said.stdout)


def kernel(text: str) -> str:
    """The kernel, which both have."""
    begin = text.index("void fill(")
    return "".join(text[begin : text.index("}", begin)].split())


@pytest.mark.parametrize(
    ("head", "genotype", "line"),
    [
        ("#define TIMES 4", "TIMES=8", "#define TIMES 8"),
        ("#define TIMES (0x4) // so often", "TIMES=8", "#define TIMES (0x8) // so often"),
        ("#define TIMES 4u", "TIMES=2", "#define TIMES 2u"),
        ("#ifndef TIMES\n#define TIMES 4UL\n#endif", "TIMES=2", "#define TIMES 2UL"),
        ("#define TIMES \\\n  4", "TIMES=2", "#define TIMES 2"),
        (BRANCHES, "TIMES=2", "#define TIMES 2"),
        (BRANCHES, "FAST=1", "#  define TIMES 4"),
        (GUARDED + "#ifndef TIMES\n#define TIMES 4\n#endif", "FAST=1", "#define TIMES 4"),
        (ANOTHER, "TIMES=8", "#define TIMES 8"),
        (UNDEFINED, "TIMES=8", "#define TIMES 8"),
    ],
)
def test_a_patch_is_what_was_measured(
    make: Make, tmp_path: Path, head: str, genotype: str, line: str
) -> None:
    subject = make(head, TIMES, *([FAST] if "FAST" in head else []))
    check_defaults(subject, open_compiler(subject, 1))
    one, other = measured(subject, genotype), patched(subject, genotype, tmp_path)
    assert kernel(one) == kernel(other)
    before = subject.reference.split("\n")
    after = subject.upstream(subject.read(genotype)).text.split("\n")
    new = [text for text in after if text not in before and "FAST" not in text]
    assert set(new) <= {line}


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("const int TIMES = 4;", "const int TIMES = 8;"),
        ("static constexpr unsigned TIMES{0x4u}; // so often", "TIMES{0x8u}; // so often"),
        ("int TIMES = 4;", "int TIMES = 8;"),
    ],
)
def test_a_patch_of_a_constant_is_what_was_measured(
    make: Make, tmp_path: Path, head: str, line: str
) -> None:
    subject = make(head, parameter("TIMES", "[2, 4, 8]", 4, "constant"))
    check_defaults(subject, open_compiler(subject, 1))
    genotype = "TIMES=8"
    assert line in measured(subject, genotype) or "//" in line
    assert kernel(measured(subject, genotype)) == kernel(patched(subject, genotype, tmp_path))
    after = subject.upstream(subject.read(genotype))
    assert line in after.text
    assert list(new_defaults(subject, after)) == [genotype]
    assert subject.upstream(subject.read("")).text == subject.grammar.source.text


@pytest.mark.parametrize(
    ("head", "said"), [("const int TIMES = 2;", ": it is 2"), ("#define TIMES 4", "")]
)
def test_a_constant_that_the_source_does_not_declare_is_refused(
    make: Make, head: str, said: str
) -> None:
    subject = make(head, parameter("TIMES", "[2, 4, 8]", 4, "constant"))
    with pytest.raises(UserError, match=rf"no constant TIMES that is 4{said}\n"):
        subject.macros(subject.standard)


def test_what_another_kernel_has_under_the_name_stays(make: Make) -> None:
    body = (
        "__global__ void fill(const float *in, float *out, int n) { out[0] = in[0] * TIMES; }\n"
        "#undef TIMES\n#define TIMES 3\n__global__ void other(float *out) { out[0] = TIMES; }\n"
    )
    subject = make("#define TIMES 4", TIMES, body=body)
    check_defaults(subject, open_compiler(subject, 1))
    after = subject.upstream(subject.read("TIMES=8")).text
    assert after == subject.reference.replace("TIMES 4", "TIMES 8")
    assert "* 8" in measured(subject, "TIMES=8")


def test_edits_are_of_the_code_that_a_value_leaves(make: Make) -> None:
    body = (
        "__global__ void fill(const float *in, float *out, int n) {\n#if TIMES > 4\n"
        "out[0] = in[0];\n#else\nout[1] = in[1];\n#endif\n}\n"
    )
    subject = make("#define TIMES 4", TIMES, body=body)
    for genotype, left in (("TIMES=8 <_kernel.cu_4>", "out[1]"), ("<_kernel.cu_6>", "out[0]")):
        text = subject.upstream(subject.read(genotype)).text
        assert [one in text for one in ("out[0]", "out[1]")] == [left == "out[0]", left == "out[1]"]
    assert not subject.expansions(subject.read("TIMES=8 <_kernel.cu_6>"))


def test_the_reference_is_the_file_as_it_is(make: Make) -> None:
    """A suffix decides how a comparison comes out."""
    subject = make("#define TIMES 4u", TIMES)
    assert "in[at] * 4u" in measured(subject, "")


@pytest.mark.parametrize(
    ("header", "head"),
    [
        ("constexpr int twice = 2 * TIMES;", '#define TIMES 4\n#include "config.h"'),
        ("#if TIMES > 4\nint more;\n#endif", '#define TIMES 4\n#include "config.h"'),
        ("#define TIMES 4", '#include "config.h"'),
    ],
    ids=["a constant", "a condition", "its own definition"],
)
def test_a_header_that_is_read_once_must_not_depend_on_a_parameter(
    make: Make, tmp_path: Path, header: str, head: str
) -> None:
    (tmp_path / "config.h").write_text(f"#pragma once\n{header}\n")
    subject = make(head, TIMES)
    with pytest.raises(UserError, match=r"(?s)header .* TIMES .* read once .* to `headers`"):
        check_defaults(subject, open_compiler(subject, 1))


@pytest.mark.parametrize(
    "header",
    ["// TIMES", "#define MORE(x) ((x) * TIMES)", "#ifndef TIMES\n#define TIMES 4\n#endif"],
    ids=["a comment", "a macro", "a guard"],
)
def test_a_header_may_name_a_parameter(make: Make, tmp_path: Path, header: str) -> None:
    (tmp_path / "config.h").write_text(f"#pragma once\n{header}\n")
    subject = make('#define TIMES 4\n#include "config.h"', TIMES)
    check_defaults(subject, open_compiler(subject, 1))


def test_a_definition_that_overrules_the_build_is_the_default(make: Make) -> None:
    subject = make("#define TIMES 2", "\n[build]\ndefine = { TIMES = 4 }\n", TIMES)
    with pytest.raises(UserError, match=r"default of TIMES is 4, but kernel\.cu:1 has 2"):
        check_defaults(subject, open_compiler(subject, 1))


def test_kernels_that_a_patch_changes_and_nobody_runs_are_named(make: Make) -> None:
    more = (
        "namespace image {\n__global__ void other(float *out) { out[TWICE] = 1; }\n}\n"
        "__global__ void third(float *out) { out[0] = 1; }\n"
    )
    subject = make("#define TIMES 4\n#define TWICE (2 * TIMES)", TIMES, body=BODY + more)
    assert used_elsewhere(subject) == {"TIMES": ["image::other"]}
    (finding,) = unseen_kernels(subject)
    assert "TIMES is used by kernels that the target does not launch: image::other" in str(finding)
    assert list(unseen_kernels(make("#define TIMES 4", TIMES))) == []


@pytest.mark.parametrize(
    ("launches", "used"),
    [
        ("other<<<1, TIMES>>>(a);", True),
        ("other<TIMES><<<1, 32>>>(a);", True),
        ("int wide = TIMES * 8; dim3 block(wide); other<<<1, block>>>(a);", True),
        ("fill<<<1, TIMES>>>(a, a, n); other<<<n, 32>>>(a);", False),
        ("// other<<<1, TIMES>>>(a);", False),
    ],
)
def test_a_parameter_is_that_of_all_kernels_that_are_launched_with_it(
    make: Make, launches: str, used: bool
) -> None:
    more = (
        "__global__ void other(float *out) { out[0] = 1; }\n"
        f"void run(float *a, int n) {{ const int TIMES = 4; {launches}\n}}\n"
    )
    subject = make("", parameter("TIMES", "[2, 4, 8]", 4, "constant"), body=BODY + more)
    assert ("other" in used_elsewhere(subject).get("TIMES", [])) == used


@pytest.mark.usefixtures("toolkit")
def test_nvcc_tells_what_the_source_defines(make: Make, tmp_path: Path) -> None:
    """Removing unreachable code must not remove the queries of macros after the source."""
    make("#define TIMES 4", TIMES)
    subject = load_subject(tmp_path, "cuda")
    assert check_defaults(subject, open_compiler(subject, 1)).own == {"TIMES"}
    make("#define TIMES 2", TIMES)
    other = load_subject(tmp_path, "cuda")
    with pytest.raises(UserError, match=r"default of TIMES is 4, but kernel\.cu:1 has 2"):
        check_defaults(other, open_compiler(other, 1))
