"""Source text as a grammar of rules: front ends, scopes, notation and rendering."""

from gi_cuda.grammar.coverage.tested import only_tested
from gi_cuda.grammar.coverage.untested import Untested, UntestedRule, Why
from gi_cuda.grammar.frontends.cuda.parsed_text import convert
from gi_cuda.grammar.frontends.cuda.rendering.guard import BEGIN, LATE, instrument, touched_loops
from gi_cuda.grammar.frontends.cuda.rendering.readback import read_grammar
from gi_cuda.grammar.frontends.cuda.rendering.render import in_force, render, rendered
from gi_cuda.grammar.frontends.cuda.text.several import (
    Joined,
    KeptInclude,
    Tree,
    read_files,
    read_tree,
)
from gi_cuda.grammar.frontends.table import FRONT_ENDS, LEVELS, front_end
from gi_cuda.grammar.grammar import Grammar, View
from gi_cuda.grammar.interface import (
    CompiledInstruction,
    FrontEnd,
    ParsedText,
    Rules,
    Selection,
    SourceLines,
    Wanted,
)
from gi_cuda.grammar.notation.bnf import write_bnf
from gi_cuda.grammar.notation.scope import write_scope
from gi_cuda.grammar.rule import Expansion, Function, Hunk, Loop, Rule
from gi_cuda.grammar.rule_types import (
    ALL_TYPES,
    EDIT_SETS,
    LARGEST_SET,
    PAPER_TYPES,
    Operation,
    RuleType,
)
from gi_cuda.grammar.source import FileSpan, LineIndex, Source, SourceLine, read_source

__all__ = [
    "ALL_TYPES",
    "BEGIN",
    "EDIT_SETS",
    "FRONT_ENDS",
    "LARGEST_SET",
    "LATE",
    "LEVELS",
    "PAPER_TYPES",
    "CompiledInstruction",
    "Expansion",
    "FileSpan",
    "FrontEnd",
    "Function",
    "Grammar",
    "Hunk",
    "Joined",
    "KeptInclude",
    "LineIndex",
    "Loop",
    "Operation",
    "ParsedText",
    "Rule",
    "RuleType",
    "Rules",
    "Selection",
    "Source",
    "SourceLine",
    "SourceLines",
    "Tree",
    "Untested",
    "UntestedRule",
    "View",
    "Wanted",
    "Why",
    "convert",
    "front_end",
    "in_force",
    "instrument",
    "only_tested",
    "read_files",
    "read_grammar",
    "read_source",
    "read_tree",
    "render",
    "rendered",
    "touched_loops",
    "write_bnf",
    "write_scope",
]
