"""The names of classes by number, so that classes can be renamed and removed."""

from dropglm.errors import InputError

LONGEST_NAME = 100  # characters


class Classes:
    """Names of classes by number, in the order in which they are shown.

    A number is never given to another class: models and earlier answers refer to it.

    Attributes
    ----------
    names : dict of int to str
        Names by number.

    Examples
    --------
    >>> classes = Classes()
    >>> classes.add("good"), classes.add("bda")
    (0, 1)
    >>> classes.rename(1, "bad")
    >>> classes.find("bda")
    1
    >>> classes.remove(0)
    >>> classes.names, classes.find("good")
    ({1: 'bad'}, None)
    """

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self._former: dict[str, int] = {}  # numbers by the names that they had before
        self._n = 0

    def find(self, name: str) -> int | None:
        """Return the number of the class that has this name, or else had it before; None if there is none."""
        for number, other in self.names.items():
            if other == name:
                return number
        number = self._former.get(name, -1)
        return number if number in self.names else None

    def has(self, name: str) -> bool:
        """Return whether a class has this name now."""
        return name in self.names.values()

    def add(self, name: str) -> int:
        """Return the number of the class of this name, which is added if there is none.

        A class that was removed has its old number again.
        """
        if self.has(name):
            return next(number for number, other in self.names.items() if other == name)
        number = self._former.get(name, self._n)
        if number in self.names:  # this class was renamed
            number = self._n
        self._n = max(self._n, number + 1)
        self.names[number] = name
        return number

    def rename(self, number: int, name: str) -> None:
        """Give a class another name."""
        self._former[self.names[number]] = number
        self.names[number] = name

    def restore_name(self, number: int, name: str) -> None:
        """Give a class the name back that it had; the one in between is forgotten."""
        self.names[number] = name

    def remove(self, number: int) -> None:
        """Remove a class."""
        self._former[self.names.pop(number)] = number

    def put_back(self, number: int, name: str, place: int) -> None:
        """Add a class that was removed, at its old place."""
        items = list(self.names.items())
        self.names = dict([*items[:place], (number, name), *items[place:]])


def checked_name(name: str) -> str:
    """Return the name of a class without blanks around it; raise an error if it cannot be one.

    Examples
    --------
    >>> checked_name(" good ")
    'good'
    """
    if isinstance(name, str) and not name.strip():
        raise InputError("A class needs a name, and this one is blank.")
    if not isinstance(name, str) or not name.isprintable():
        raise InputError(f"The name of a class must be a line of text, got {name!r}.")
    if len(name.strip()) > LONGEST_NAME:
        raise InputError(
            f"The name of a class must have at most {LONGEST_NAME} characters, got {len(name.strip())}: "
            f"{name.strip()[:30]}…"
        )
    return name.strip()
