"""The run database: one SQLite file, one writer, and all that is needed to resume."""

from gi_cuda.store.database import Store, Tabued

__all__ = ["Store", "Tabued"]
