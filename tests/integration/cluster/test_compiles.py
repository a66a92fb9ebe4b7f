"""Messages of a machine that compiles for another one: each file once, code as compiled there."""

from __future__ import annotations

import pickle
from pathlib import Path

from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.variants import Binary, Phenotype
from gi_cuda.backends.table import open_compiler
from gi_cuda.cluster.compiling import Compiles, Order, tools_of_compiler
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.levels import open_subject

SCALE = Path(__file__).parents[2] / "targets" / "scale"


def test_for_a_gpu_that_is_elsewhere(toolkit: Toolkit, tmp_path: Path) -> None:
    subject = open_subject(SCALE, "cuda")
    compiler, old = (open_compiler(subject, 1, one) for one in ("sm_90", "sm_80"))
    assert tools_of_compiler(compiler) != tools_of_compiler(old)
    again = open_compiler(open_subject(SCALE, "cuda"), 2, "sm_90")
    assert tools_of_compiler(compiler) == tools_of_compiler(again)
    variants = [unmodified(subject).variant(ident) for ident in (0, 5)]
    phenotypes = compiler.preprocess(variants)
    here = {one.ident: one for one in compiler.compile(_all(phenotypes), tmp_path / "here")}
    share = {10 + ident: Order(0, 0, one) for ident, one in enumerate(_all(phenotypes))}
    share |= {20: Order(1, 1, share[10].phenotype)}
    there = Compiles((again, *again.rehearsing()), tmp_path / "there")
    found = pickle.loads(pickle.dumps(dict(there.results(share, lambda: False, dict))))
    assert found.keys() == share.keys()
    for number in (10, 11):
        built = found[number].built
        assert isinstance(built, Binary)
        assert built.code_key == here[built.ident].code_key
    first, twin = sorted((found[10], found[11]), key=lambda one: one.content is None)
    assert first.content
    assert (twin.file, twin.content) == (first.file, None), "the same code is sent once"
    assert found[20].content not in (None, first.content), "a rehearsal's code is its own"
    assert not list((tmp_path / "there").rglob("*.cubin"))


def _all(found: dict[int, object]) -> list[Phenotype]:
    return [one for one in found.values() if isinstance(one, Phenotype)]
