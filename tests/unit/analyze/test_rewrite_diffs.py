"""Diffs of rewrites: all ordinary forms, and the files that they change."""

from __future__ import annotations

import pytest

from gi_cuda.analyze.rewrites.diffs import applied, file_diffs
from gi_cuda.errors import UserError

BEFORE = "".join(f"line {number}\n" for number in range(1, 13))
AFTER = BEFORE.replace("line 6\n", "line six\n")
HUNK = """\
@@ -4,5 +4,5 @@ a function
 line 4
 line 5
-line 6
+line six
 line 7
 line 8
"""
MAIL = """\
From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001
From: A <a@b>
Date: Fri, 27 Nov 2026 12:00:00 +0000
Subject: [PATCH] faster

It is faster.
---
 src/k.cu | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

diff --git a/src/k.cu b/src/k.cu
index 0123456..789abcd 100644
--- a/src/k.cu
+++ b/src/k.cu
"""


@pytest.mark.parametrize(
    "head",
    [
        "diff --git a/src/k.cu b/src/k.cu\n--- a/src/k.cu\n+++ b/src/k.cu\n",
        "--- src/k.cu\n+++ src/k.cu\n",
        "--- k.cu\t2026-11-28 13:44:55.646379049 +0000\n+++ k2.cu\t2026-11-28 13:44:55 +0000\n",
        "--- /home/me/project/src/k.cu\n+++ /home/me/new/k.cu\n",
        "--- old.cu\n+++ new.cu\n",
        '--- "a/src/k.cu"\n+++ "b/src/k.cu"\n',
        MAIL,
    ],
    ids=["git", "without prefixes", "diff -u", "absolute", "other names", "quoted", "mail"],
)
def test_each_form_of_a_diff_is_applied(head: str) -> None:
    files = {"src/k.cu": BEFORE, "src/other.cu": "other\n"}
    assert applied(file_diffs(head + HUNK), files, "src/k.cu", "p.diff") == {"src/k.cu": AFTER}


@pytest.mark.parametrize(("hunk", "after"), [("", BEFORE), (HUNK, AFTER)], ids=["pure", "changed"])
def test_a_renamed_header_has_its_new_name(hunk: str, after: str) -> None:
    diff = "diff --git a/src/h.cuh b/src/g.cuh\nrename from src/h.cuh\nrename to src/g.cuh\n"
    diff += f"--- a/src/h.cuh\n+++ b/src/g.cuh\n{hunk}" if hunk else ""
    files = {"src/k.cu": "kernel\n", "src/h.cuh": BEFORE}
    found = applied(file_diffs(diff), files, "src/k.cu", "p.diff")
    assert found == {"src/h.cuh": None, "src/g.cuh": after}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("new first line\n" * 3 + BEFORE, "new first line\n" * 3 + AFTER, id="moved"),
        pytest.param(
            BEFORE.replace("line 4", "line four"), AFTER.replace("line 4", "line four"), id="fuzz"
        ),
        pytest.param(BEFORE.replace("\n", "\r\n"), AFTER.replace("\n", "\r\n"), id="line ends"),
    ],
)
def test_a_hunk_is_found_where_the_file_has_changed_a_little(before: str, after: str) -> None:
    diffs = file_diffs(f"--- k.cu\n+++ k.cu\n{HUNK}")
    assert applied(diffs, {"k.cu": before}, "k.cu", "p.diff") == {"k.cu": after}


def test_a_hunk_that_fits_nowhere_is_an_error_with_its_place() -> None:
    diffs = file_diffs(f"--- k.cu\n+++ k.cu\n{HUNK}")
    with pytest.raises(UserError) as raised:
        applied(diffs, {"k.cu": "something else\n"}, "k.cu", "p.diff")
    assert raised.value.where == "p.diff: k.cu, hunk 1"


def test_files_may_be_added_and_removed() -> None:
    text = (
        "--- /dev/null\n+++ b/src/fast.cuh\n@@ -0,0 +1,2 @@\n+#pragma once\n+int fast();\n"
        "--- a/src/slow.cuh\n+++ /dev/null\n@@ -1 +0,0 @@\n-int slow();\n"
    )
    files = {"src/k.cu": BEFORE, "src/slow.cuh": "int slow();\n"}
    assert applied(file_diffs(text), files, "src/k.cu", "p.diff") == {
        "src/fast.cuh": "#pragma once\nint fast();\n",
        "src/slow.cuh": None,
    }


def test_a_last_line_may_have_no_end() -> None:
    text = "--- k\n+++ k\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    assert applied(file_diffs(text), {"k": "a\nb"}, "k", "p") == {"k": "a\nc\n"}
    text = "--- k\n+++ k\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"
    assert applied(file_diffs(text), {"k": "a\nb\n"}, "k", "p") == {"k": "a\nc"}


def test_a_text_without_a_diff_has_none() -> None:
    assert file_diffs("just a text\n--- with a rule\n") == []
