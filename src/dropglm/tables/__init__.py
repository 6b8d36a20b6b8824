"""Tables of texts and labels: read from files and standard input, written to files and standard output."""

from dropglm.tables.errors import EmptyTableError, RowError, TableError
from dropglm.tables.formats import FORMATS
from dropglm.tables.labels import class_name, class_names, class_type, to_classes
from dropglm.tables.reading import batches, column_names, read
from dropglm.tables.stream import Batch, stream
from dropglm.tables.writing import write

__all__ = [
    "FORMATS",
    "Batch",
    "EmptyTableError",
    "RowError",
    "TableError",
    "batches",
    "class_name",
    "class_names",
    "class_type",
    "column_names",
    "read",
    "stream",
    "to_classes",
    "write",
]
