"""Embeddings on the command line: NumPy files with one row per text, and embedders in local folders."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dropglm.base.progress import Progress
from dropglm.cli.errors import BadInputError
from dropglm.cli.options import bad_option

if TYPE_CHECKING:
    import numpy as np

    from dropglm.text.fitted_model import FittedTextModel


class EmbeddingRows:
    """Rows of NumPy files, in the order of the texts of a table; None where no file is given.

    The files are read as far as their rows are needed.
    """

    def __init__(self, *paths: Path | None) -> None:
        given = [path for path in paths if path is not None]
        self.names = " and ".join(map(str, given))
        self.arrays = [_open(path) for path in given]
        self.total = sum(map(len, self.arrays))
        self.taken = 0

    def all(self, n: int, table: str) -> "np.ndarray | None":
        """Return all rows, which must be as many as the n texts of the table."""
        if self.arrays and n != self.total:
            raise BadInputError(f"{self.names}: there are {self.total:,} rows, but {n:,} texts in {table}.")
        return self.next_rows(n, table)

    def next_rows(self, n: int, table: str) -> "np.ndarray | None":
        """Return the rows of the next n texts."""
        if not self.arrays:
            return None
        import numpy as np

        start, self.taken = self.taken, self.taken + n
        if self.taken > self.total:
            raise BadInputError(f"{self.names}: there are {self.total:,} rows, but more texts in {table}.")
        parts, first = [], 0
        for array in self.arrays:
            part = array[max(0, start - first) : max(0, self.taken - first)]
            parts += [part] if len(part) else []
            first += len(array)
        if len({part.shape[1] for part in parts}) > 1:
            raise BadInputError(f"{self.names}: the rows have different lengths.")
        rows = np.concatenate(parts) if parts else self.arrays[0][:0]
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            number = start + int(np.argmin(finite))
            raise BadInputError(
                f"{self.names}: there are NaN or infinite numbers, first in row {number} (counted from 0)."
            )
        return rows

    def check_all_taken(self, table: str) -> None:
        """Refuse files with more rows than the table has texts."""
        if self.taken < self.total:
            raise BadInputError(
                f"{self.names}: there are {self.total:,} rows, but only {self.taken:,} texts in {table}."
            )


def _open(path: Path) -> "np.ndarray":
    """Return the array in a NumPy file, which stays on disk."""
    import numpy as np

    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError):
        array = None
    if not isinstance(array, np.ndarray):
        raise BadInputError(f"{path} is not a NumPy file (.npy) with an array of numbers.")
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise BadInputError(
            f"{path} must hold one row of numbers per text, but its array has shape {array.shape} and dtype "
            f"{array.dtype}."
        )
    return array


def check_not_both(embeddings: object, embedder: Path | None) -> None:
    """Refuse both embeddings and an embedder."""
    if embeddings and embedder is not None:
        raise bad_option("--embedder", "cannot be used with --embeddings.")


def check_unlabelled(embeddings: object, embeddings_unlabeled: object, unlabeled: object) -> None:
    """Refuse embeddings of unlabelled texts without those of the others, or the other way round."""
    if embeddings_unlabeled and not (embeddings and unlabeled):
        raise bad_option("--embeddings-unlabeled", "needs --embeddings and --unlabeled as well.")
    if embeddings and unlabeled and not embeddings_unlabeled:
        raise bad_option(
            "--embeddings",
            "needs the embeddings of the texts of --unlabeled as well; give --embeddings-unlabeled.",
        )


def read_embedder(folder: Path | None, *, quiet: bool) -> Any:
    """Return the embedder in a folder, or None if no folder is given."""
    if folder is None:
        return None
    from dropglm.text.embeddings import load_embedder

    with Progress(f"Reading {folder}", shown=not quiet):
        return load_embedder(folder)


def load_with_embedder(
    model: Path, folder: Path | None, *, trust: bool, quiet: bool = True
) -> "FittedTextModel":
    """Return the model in a file, with its embedder if a folder is given."""
    from dropglm.text.fitted_model import load_fitted_model

    return load_fitted_model(model, embedder=read_embedder(folder, quiet=quiet), trust=trust)
