"""Consecutive rows of a table, as bytes."""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # NumPy is not needed for help and for errors about options
    import numpy as np

    from dropglm.encoded_texts import EncodedTexts


class Block(NamedTuple):
    """Rows that were cut at once; they have all the fields that were requested.

    Attributes
    ----------
    letters : ndarray of uint8
        The fields in UTF-8.
    begins, ends : ndarray of shape (number of columns, n)
        Where each field begins and ends in ``letters``.
    first_row : int
        Number of the first row in the table.
    lines : ndarray of shape (n, 2)
        The first and the last line of each row.
    """

    letters: "np.ndarray"
    begins: "np.ndarray"
    ends: "np.ndarray"
    first_row: int
    lines: "np.ndarray"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def column(self, k: int) -> "EncodedTexts":
        """Return the fields of one column."""
        from dropglm.encoded_texts import EncodedTexts

        return EncodedTexts(self.letters, self.begins[k], self.ends[k])

    def tuples(self) -> list[tuple[Any, ...]]:
        """Return the fields of each row, as strings."""
        return list(zip(*(self.column(k) for k in range(len(self.begins))), strict=True))
