"""The subject of a search: a target's source, or the PTX that a compiler makes of it."""

from gi_cuda.subject.idea import Idea
from gi_cuda.subject.loading import load_subject, subject_of
from gi_cuda.subject.start import Start, Started
from gi_cuda.subject.subject import Compiled, Subject

__all__ = ["Compiled", "Idea", "Start", "Started", "Subject", "load_subject", "subject_of"]
