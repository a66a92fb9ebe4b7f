"""What is evolved: a target's source, or what a compiler makes of it."""

from gi_cuda.subject.idea import Idea
from gi_cuda.subject.start import Start, Started
from gi_cuda.subject.subject import Compiled, Subject, load_subject, subject_of

__all__ = ["Compiled", "Idea", "Start", "Started", "Subject", "load_subject", "subject_of"]
