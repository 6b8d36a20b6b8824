"""Tables of texts and labels: read from files and standard input, written to files and standard output."""

from dropglm.tables.errors import EmptyTableError, RowError, TableError
from dropglm.tables.formats import FORMATS, write
from dropglm.tables.reader import (
    Batch,
    Table,
    all_names,
    class_name,
    class_names,
    class_type,
    find_files,
    group_labels,
    has_lists,
    joined_names,
    label_names,
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
    "all_names",
    "class_name",
    "class_names",
    "class_type",
    "find_files",
    "group_labels",
    "has_lists",
    "joined_names",
    "label_names",
    "no_labels",
    "row_weights",
    "to_classes",
    "write",
]
