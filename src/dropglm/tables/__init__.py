"""Tables of texts and labels: read from files and standard input, written to files and standard output."""

from dropglm.tables.complaint import RowError, TableError
from dropglm.tables.formats import FORMATS
from dropglm.tables.frames import typed
from dropglm.tables.reading import batches, read
from dropglm.tables.stream import Batch, stream
from dropglm.tables.writing import write

__all__ = ["FORMATS", "Batch", "RowError", "TableError", "batches", "read", "stream", "typed", "write"]
