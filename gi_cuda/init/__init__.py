"""Write a target folder for a CUDA source file; the user then completes it."""

from gi_cuda.init.build.compilation import Compilation, from_database, from_options, joined
from gi_cuda.init.choosing import Choice, Untried, first_that_passes, or_another, rank_kernels
from gi_cuda.init.proposing.proposal import Proposal, Step, propose
from gi_cuda.init.proposing.several import join, propose_several, said_of_several
from gi_cuda.init.ranking import Ranked
from gi_cuda.init.source.brackets import unclosed
from gi_cuda.init.source.fragments import Built, find_source
from gi_cuda.init.source.sources import read_whole
from gi_cuda.init.writing.examples import copy_example, examples
from gi_cuda.init.writing.from_t1 import files_of_problem
from gi_cuda.init.writing.text import files
from gi_cuda.init.writing.write import check_free, write_folder
from gi_cuda.spec.toml_file.load import MARK

__all__ = [
    "MARK",
    "Built",
    "Choice",
    "Compilation",
    "Proposal",
    "Ranked",
    "Step",
    "Untried",
    "check_free",
    "copy_example",
    "examples",
    "files",
    "files_of_problem",
    "find_source",
    "first_that_passes",
    "from_database",
    "from_options",
    "join",
    "joined",
    "or_another",
    "propose",
    "propose_several",
    "rank_kernels",
    "read_whole",
    "said_of_several",
    "unclosed",
    "write_folder",
]
