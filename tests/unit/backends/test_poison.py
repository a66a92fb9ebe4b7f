"""Values of uninitialized locals, in assembly of g++."""

from __future__ import annotations

import pytest

from gi_cuda.backends.host.build.library import with_large_locals


@pytest.mark.parametrize(
    ("poisoned", "large"),
    [
        ("\tmovl\t$-16843010, -8(%rbp)\n", "\tmovl\t$2139062143, -8(%rbp)\n"),
        ("\tmovabsq\t$-72340172838076674, %rcx\n", "\tmovabsq\t$9187201950435737471, %rcx\n"),
        (".LC0:\n\t.long\t-16843010\n", ".LC0:\n\t.long\t2139062143\n"),
        ("\t.byte\t-2\n" * 16, "\t.byte\t127\n" * 16),
        (
            "\tmovl\t$254, %esi\n\tmovq\t%rax, %rdi\n\tcall\tmemset@PLT\n",
            "\tmovl\t$127, %esi\n\tmovq\t%rax, %rdi\n\tcall\tmemset@PLT\n",
        ),
    ],
)
def test_poison_becomes_large(poisoned: str, large: str) -> None:
    assert with_large_locals(poisoned) == large


@pytest.mark.parametrize(
    "assembly",
    [
        "\tmovl\t$16843011, %eax\n",
        "\tmovl\t$254, %esi\n\tcall\tgi_other@PLT\n",
        "\t.byte\t-2\n\t.byte\t-2\n",
        "\tmovl\t-168430100(%rip), %eax\n",
    ],
)
def test_other_numbers_stay(assembly: str) -> None:
    assert with_large_locals(assembly) == assembly
