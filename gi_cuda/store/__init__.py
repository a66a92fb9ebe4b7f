"""The run database: one SQLite file with one writer. It holds everything that resuming needs."""

from gi_cuda.store.database import Store, Tabued

__all__ = ["Store", "Tabued"]
