"""Reading logs of sanitizers, and recognizing new findings."""

from __future__ import annotations

from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import (
    SanitizerFinding,
    compiled_in,
    from_outside,
    new_findings,
    races,
)
from gi_cuda.grammar import Source

SOURCE = Source("k.cu", "one\n  two[i] = 2;\nthree\n    four();\n")

ADDRESS = """\
=================================================================
==77==ERROR: AddressSanitizer: stack-buffer-overflow on address 0x7f01 at pc 0x7f02 bp 0x7f03
READ of size 4 at 0x7f01 thread T0
    #0 0x7f02 in v1::scale(int const*, int*, int) v1/k.cu:2
    #1 0x7f04 in gi_call /tmp/shard1.cpp:99

Address 0x7f01 is located in stack of thread T0 at offset 40 in frame
    #0 0x7f05 in v1::scale(int const*, int*, int) v1/k.cu:1

SUMMARY: AddressSanitizer: stack-buffer-overflow v1/k.cu:2 in v1::scale
v1/k.cu:4:17: runtime error: index 7 out of bounds for type 'int [4]'
"""

RACE = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at scale(int *)+0x130 in /x/v1/k.cu:2
=========     and Read access at scale(int *)+0x150 in /x/v1/k.cu:4 [34 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""

MEMORY = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at scale(int *)+0x120 in k.cu:2
=========     by thread (3,0,0) in block (4,0,0)
=========     Address 0x7f00 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: main [0x1754] in python3
=========
========= Invalid __global__ write of size 4 bytes
=========     at scale(int *)+0x120 in k.cu:2
=========     by thread (5,0,0) in block (4,0,0)
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) on CUDA API call to cuCtxSynchronize.
========= Target application returned an error
========= ERROR SUMMARY: 3 errors
"""

BARRIER = """\
========= Barrier error detected. Divergent thread(s) in block.
=========     at scale(int *)+0xa0 in k.cu:4
=========     by thread (19,0,0) in block (0,0,0)
========= ERROR SUMMARY: 1 error
"""


def test_reports_of_the_compilers_sanitizers() -> None:
    assert compiled_in(ADDRESS, SOURCE) == [
        SanitizerFinding("stack-buffer-overflow, read of 4 bytes", 2, "two[i] = 2;"),
        SanitizerFinding("index 7 out of bounds for type 'int [4]'", 4, "four();"),
    ]


def test_reports_of_the_tools_for_devices() -> None:
    assert from_outside(RACE, SOURCE) == [
        SanitizerFinding("Error: Race reported between Write access", 2, "two[i] = 2;")
    ]
    assert from_outside(MEMORY, SOURCE) == [
        SanitizerFinding("Invalid __global__ write of size 4 bytes", 2, "two[i] = 2;"),
        SanitizerFinding(
            "Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) on CUDA API call to cuCtxSynchronize."
        ),
    ]
    assert from_outside(BARRIER, SOURCE) == [
        SanitizerFinding("Barrier error detected. Divergent thread(s) in block.", 4, "four();")
    ]


def test_nothing_found_is_nothing() -> None:
    assert compiled_in("", SOURCE) == []
    clean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
    assert from_outside(clean, SOURCE) == []


def test_what_the_reference_does_as_well_is_not_new() -> None:
    """Lines move and addresses differ; what stands on the line does not."""
    known = [SanitizerFinding("index 7 out of bounds", 4, "four();")]
    same = SanitizerFinding("index 9 out of bounds", 6, "four();")
    other = SanitizerFinding("index 7 out of bounds", 4, "five();")
    assert new_findings([same, other], known) == [other]


RACING = Source("kernel.cu", "a\n  tile[t] = 1;\nb\n  x = tile[t - 1];\n")
LINE = (
    "gi-cuda race\tgi_kernel_v1_k\tone block\tshared memory"
    "\t{0}\t(3,0,0)\t(7,0,0)\t{1}\t{2}\t(4,0,0)\t(7,0,0)\t{3}\n"
)


def test_a_race_is_the_same_whichever_access_came_first() -> None:
    write, read = ("write", "v1/kernel.cu:2"), ("read", "gi_warp.hpp:9 v1/kernel.cu:4")
    (one,) = races("words\n" + LINE.format(*write, *read), RACING)
    (other,) = races(LINE.format(*read, *write), RACING)
    assert (one.kernel, one.line, one.text) == ("k", 2, "tile[t] = 1;")
    assert one.kind.endswith("in line 4: x = tile[t - 1];")
    assert new_findings([other], [one]) == []


def test_races_of_one_block_and_of_two_are_two() -> None:
    within = LINE.format("write", "kernel.cu:2", "read", "kernel.cu:4")
    across = within.replace("one block", "two blocks")
    assert len(races(within + across + within, RACING)) == 2


def test_a_race_without_lines_names_kernel_and_memory() -> None:
    (found,) = races(LINE.format("write", "", "read", ""), RACING)
    assert str(found).startswith("race of threads of one block in k on shared memory: read by")
    assert races("gi-cuda race\tcut off", RACING) == []
