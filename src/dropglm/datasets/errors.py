"""What goes wrong with files and networks, in one type."""


class DatasetError(OSError):
    """A data set cannot be had: not found, not downloaded, damaged, or no room for it.

    An ``OSError``, since the remedy lies outside the program. Wrong arguments are a ``ValueError`` or a
    ``TypeError``, and a missing package is an ``ImportError``, as anywhere else.
    """
