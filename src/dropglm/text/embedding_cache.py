"""Embeddings that are kept on disk, so that a text is encoded once by all commands and fits of a user.

There is one SQLite file per encoder and version of its package, in the folder ``embeddings`` of
``$DROPGLM_CACHE`` or of the user's cache. It holds a hash of each text, not the text, and its embedding in
float32, so that results do not depend on whether the cache was used. ``$DROPGLM_EMBEDDING_CACHE`` is the
largest size of a file in megabytes, by default 1,000; beyond it the oldest rows are removed, and 0 switches
the cache off. A cache that cannot be read or written is never an error: texts are then encoded again.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from zlib import crc32

import numpy as np

from dropglm.base.errors import InputError
from dropglm.base.files import user_cache

MEGABYTES = 1000
SECONDS = 5.0  # to wait for other processes that write
KEYS = 500  # per query
# Largest difference of two embeddings of the same text by the same encoder, relative to the longest: about
# 1e-6 between processors and numbers of threads.
TOLERANCE = 1e-3

TABLES = (
    "CREATE TABLE IF NOT EXISTS encoder (probes BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS rows "
    "(id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, embedding BLOB NOT NULL)",
)
BYTES_BESIDE = 64  # in the file, beside each embedding: the key twice, the number, and SQLite's own


def cache_file(name: str, version: str) -> Path | None:
    """Return the file for the embeddings of an encoder; None if the cache is switched off."""
    if not size_limit():
        return None
    folder = Path(os.environ.get("DROPGLM_CACHE") or user_cache()) / "embeddings"
    identity = f"{name} {version}"
    readable, digest = (
        re.sub(r"[^\w.]+", "-", identity),
        blake2b(identity.encode(), digest_size=4).hexdigest(),
    )
    return folder / f"{readable}-{digest}.sqlite"


def size_limit() -> float:
    """Return the largest size of a file, in bytes."""
    given = os.environ.get("DROPGLM_EMBEDDING_CACHE") or str(MEGABYTES)
    if not re.fullmatch(r"\d+(\.\d+)?", given):
        raise InputError(
            f"$DROPGLM_EMBEDDING_CACHE must be a number of megabytes, 0 for no cache, but is {given!r}."
        )
    return float(given) * 1e6


class EmbeddingCache:
    """The embeddings of an encoder in a file, which several processes and threads may use at once.

    Parameters
    ----------
    path : Path
        The file; it is created if it does not exist.
    probes : ndarray of shape (p, k)
        Embeddings of fixed texts by the encoder as it is now. If those in the file differ, as after a model
        of a hub has changed, the file is emptied.
    size : float
        Largest size of the file, in bytes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = EmbeddingCache(Path(folder) / "rows.sqlite", np.zeros((1, 2), np.float32))
    ...     cache.add(["one", "two"], np.array([[1, 1], [2, 2]], np.float32))
    ...     E, is_known = cache.read(["two", "three"])
    >>> is_known, E[0]
    (array([ True, False]), array([2., 2.], dtype=float32))
    """

    def __init__(self, path: Path, probes: np.ndarray, size: float = 1e6 * MEGABYTES) -> None:
        self.path, self.probes = path, probes
        self.most = int(size / (probes[0].nbytes + BYTES_BESIDE))
        self.is_usable = True
        self._use(self._prepare)

    def read(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return an array for the embeddings of the texts, and which of its rows are known and filled."""
        width = self.probes.shape[1]
        E, is_known = np.zeros((len(texts), width), np.float32), np.zeros(len(texts), np.bool_)

        def look_up(file: sqlite3.Connection) -> None:
            for start in range(0, len(texts), KEYS):
                numbers = {key_of(text): start + j for j, text in enumerate(texts[start : start + KEYS])}
                query = f"SELECT key, embedding FROM rows WHERE key IN ({','.join('?' * len(numbers))})"
                for key, row in file.execute(query, tuple(numbers)):
                    if isinstance(row, bytes) and len(row) == 4 * width + 4 and row == _checked(row[:-4]):
                        E[numbers[key]], is_known[numbers[key]] = np.frombuffer(row[:-4], "<f4"), True

        self._use(look_up)
        return E, is_known & np.isfinite(E).all(axis=1)

    def add(self, texts: Sequence[str], rows: np.ndarray) -> None:
        """Keep embeddings of texts; if the file becomes too large, remove the oldest ones."""
        rows = rows.astype("<f4")
        pairs = [(key_of(text), _checked(row.tobytes())) for text, row in zip(texts, rows, strict=True)]

        def store(file: sqlite3.Connection) -> None:
            file.execute("BEGIN IMMEDIATE")
            file.executemany("INSERT OR REPLACE INTO rows (key, embedding) VALUES (?, ?)", pairs)
            # Only the oldest rows are removed, and damaged ones get a new number, so few numbers are missing.
            file.execute("DELETE FROM rows WHERE id <= (SELECT max(id) FROM rows) - ?", (self.most,))
            file.execute("COMMIT")

        self._use(store)

    def _prepare(self, file: sqlite3.Connection) -> None:
        file.execute("PRAGMA page_size = 32768")  # of a new file; a page of 4,096 bytes has room for one row
        with suppress(sqlite3.OperationalError):  # another process is doing it
            file.execute("PRAGMA journal_mode = WAL")
        file.execute("BEGIN IMMEDIATE")
        for statement in TABLES:
            file.execute(statement)
        probes = self.probes.astype("<f4")
        if not any(_equal(stored, probes) for (stored,) in file.execute("SELECT probes FROM encoder")):
            file.execute("DELETE FROM rows")
            file.execute("DELETE FROM encoder")
            file.execute("INSERT INTO encoder VALUES (?)", (probes.tobytes(),))
        file.execute("COMMIT")

    def _use(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Do something with the file; after an error it is not used again by this process."""
        if not self.is_usable:
            return
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=SECONDS, isolation_level=None)) as file:
                file.execute("PRAGMA synchronous = NORMAL")
                work(file)
        except (sqlite3.Error, OSError) as error:
            self.is_usable = False
            if type(error) is sqlite3.DatabaseError:  # it is damaged, so the next process starts anew
                for suffix in ("", "-wal", "-shm"):
                    with suppress(OSError):
                        Path(f"{self.path}{suffix}").unlink(missing_ok=True)


def _checked(row: bytes) -> bytes:
    """Return the bytes of a row with a checksum: SQLite does not notice if some of them have changed."""
    return row + crc32(row).to_bytes(4, "little")


def _equal(stored: bytes, probes: np.ndarray) -> bool:
    if len(stored) != probes.nbytes:
        return False
    difference = np.frombuffer(stored, "<f4") - probes.ravel()
    return bool(np.abs(difference).max() <= TOLERANCE * np.abs(probes).max())


def key_of(text: str) -> bytes:
    """Return a hash of a text, by which its embedding is found.

    Examples
    --------
    >>> len(key_of("one")), key_of("one") == key_of("One")
    (16, False)
    """
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
