"""LLVM-IR cut into a module for each kernel."""

from __future__ import annotations

from gi_cuda.backends.cuda.llvm.kernels import split

TEXT = """\
@data = internal addrspace(3) global [64 x i32] undef, align 4

define ptx_kernel void @_ZN2v01aEv() {
  call void @_ZN2v04helpEv()
  ret void
}

define internal void @_ZN2v04helpEv() {
  call void @slow.path()
  ret void
}

define ptx_kernel void @_ZN2v01bEv() {
  call void @_ZN2v04helpEv()
  ret void
}

define internal void @slow.path() {
  ret void
}
"""


def test_each_kernel_has_its_own_copies_of_functions_in_the_namespace() -> None:
    first, second = split(TEXT)
    assert "@_ZN2v01aEv()" in first
    assert "@_ZN2v01bEv" not in first
    assert "define internal void @_ZN2v04helpEv$1() {\n  call void @_ZN2v011slow$path$1Ev()" in (
        second
    )
    assert first.startswith("@data = internal")


def test_an_edit_changes_the_module_of_its_kernel_alone() -> None:
    edited = TEXT.replace("void @_ZN2v01bEv() {\n", "void @_ZN2v01bEv() {\n  call void @f()\n")
    assert split(edited)[0] == split(TEXT)[0]
    assert split(edited)[1] != split(TEXT)[1]


def test_a_module_with_pointers_to_functions_stays_whole() -> None:
    (whole,) = split(f"{TEXT}@pointer = addrspace(1) global ptr @_ZN2v01aEv, align 8\n")
    assert "@_ZN2v01aEv()" in whole
    assert "@_ZN2v01bEv()" in whole
