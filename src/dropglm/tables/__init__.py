"""Tables of texts and labels: read from files and standard input, written to files and standard output."""

from dropglm.tables.errors import EmptyTableError, RowError, TableError
from dropglm.tables.formats import FORMATS, write
from dropglm.tables.reader import (
    Batch,
    Table,
    class_name,
    class_names,
    class_type,
    find_files,
    group_labels,
    no_labels,
    row_weights,
    to_classes,
)

__all__ = [
    "FORMATS",
    "Batch",
    "EmptyTableError",
    "RowError",
    "Table",
    "TableError",
    "class_name",
    "class_names",
    "class_type",
    "find_files",
    "group_labels",
    "no_labels",
    "row_weights",
    "to_classes",
    "write",
]
