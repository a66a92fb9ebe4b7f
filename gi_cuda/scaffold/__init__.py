"""From a source file to a target folder, to be completed by someone who knows the kernel."""

from gi_cuda.scaffold.compilation import Compilation, from_database, from_options, joined
from gi_cuda.scaffold.proposal import Proposal, propose
from gi_cuda.scaffold.text import MARK, files
from gi_cuda.scaffold.tuning import Standing
from gi_cuda.scaffold.write import check_free, write_folder

__all__ = [
    "MARK",
    "Compilation",
    "Proposal",
    "Standing",
    "check_free",
    "files",
    "from_database",
    "from_options",
    "joined",
    "propose",
    "write_folder",
]
