"""The ``.bnf`` and ``.scope`` notations of a grammar."""

from gi_cuda.grammar.frontends.cuda.readback import read_grammar
from gi_cuda.grammar.notation.bnf import write_bnf
from gi_cuda.grammar.notation.scope import write_scope

__all__ = ["read_grammar", "write_bnf", "write_scope"]
