"""The secret in the address of a page."""

import hmac
import os
import secrets
from pathlib import Path

BYTES = 16


def page_token(purpose: str, folder: Path | None = None) -> str:
    """Return a secret for the address of a page, the same each time for the same purpose and user.

    A page that is open when the server stops can thus be used again when the server is back. The secret is
    derived from a random key in a file that only the user can read; without such a file it is new each time.

    Parameters
    ----------
    purpose : str
        What the page is for, such as the file that it edits.
    folder : Path, optional
        Folder of the key; by default that of the user's cache.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one, again, other = (page_token(purpose, Path(folder)) for purpose in ("a", "a", "b"))
    >>> one == again, one == other
    (True, False)
    """
    try:
        key = _key((folder or cache_folder()) / "page-key")
    except OSError:
        key = secrets.token_bytes(BYTES)
    return hmac.new(key, purpose.encode("utf-8", "surrogateescape"), "sha256").hexdigest()[: 2 * BYTES]


def cache_folder() -> Path:
    """Return the folder for files of this user that can be made again."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "dropglm"


def _key(path: Path) -> bytes:
    """Return the key in a file, which is made if it does not exist or has another owner's permissions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        private = os.name != "posix" or path.stat().st_mode & 0o077 == 0
        key = path.read_bytes()
        if private and len(key) == BYTES:
            return key
        path.unlink()
    except FileNotFoundError:
        pass
    key = secrets.token_bytes(BYTES)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(file, "wb") as stream:
        stream.write(key)
    return key
