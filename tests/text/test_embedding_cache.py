"""Embeddings on disk: texts are encoded once, whatever happens to the file."""

import os
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

from dropglm.text import encoders
from dropglm.text.embedding_cache import EmbeddingCache, cache_file, key_of
from dropglm.text.embeddings import BATCH, FEWEST, PROBES, embed
from dropglm.text.encoders import Encoder, Source

TEXTS = [f"text {n} {'x' * (n % 7)}" for n in range(FEWEST + BATCH)]


def lengths(texts, scale=1.0):
    return scale * np.array(
        [[len(text), text.count("x"), float(text.rsplit(" ", 1)[0].count("1"))] for text in texts]
    )


class Counting:
    """An encoder that remembers what it has encoded, except the probes."""

    def __init__(self, scale=1.0):
        self.scale, self.seen = scale, []

    def encode(self, texts):
        self.seen += [text for text in texts if text not in PROBES]
        return lengths(texts, self.scale)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DROPGLM_CACHE", str(tmp_path))
    monkeypatch.delenv("DROPGLM_EMBEDDING_CACHE")
    return tmp_path / "embeddings"


def embedded(texts=TEXTS, name="counting", version="1", scale=1.0):
    """Embed texts as a new process would; return the embeddings and the texts that were encoded."""
    model = Counting(scale)
    E = embed(Encoder(name, model, version), texts)
    np.testing.assert_array_equal(E, lengths(texts, scale).astype(np.float32))
    return model.seen


def test_a_text_is_encoded_once_by_all_calls():
    assert embedded() == TEXTS
    assert embedded() == []
    assert embedded(["new", *TEXTS[::-1]]) == ["new"]
    assert embedded([*TEXTS, *TEXTS, "newer", "newer"]) == ["newer"]


def test_a_list_of_one_encoder_stands_for_the_encoder():
    assert embedded() == TEXTS
    model = Counting()
    embed([Encoder("counting", model, "1")], TEXTS)
    assert model.seen == []


def test_names_and_versions_have_their_own_embeddings(folder):
    assert embedded() == TEXTS
    assert embedded(version="2") == embedded(name="model2vec:some/model") == TEXTS
    assert len(list(folder.glob("*.sqlite"))) == 3
    assert embedded() == []


def test_a_model_that_has_changed_under_its_name_empties_the_file():
    assert embedded() == TEXTS
    assert embedded(scale=1.01) == TEXTS
    assert embedded(scale=1.01) == []


def test_objects_of_the_user_and_few_texts_are_not_kept(folder):
    for _ in range(2):
        model = Counting()
        embed(model, TEXTS)
        assert model.seen == TEXTS
        assert embedded(TEXTS[: FEWEST - 1]) == TEXTS[: FEWEST - 1]
    assert not folder.exists()


def test_zero_megabytes_switch_the_cache_off(folder, monkeypatch):
    monkeypatch.setenv("DROPGLM_EMBEDDING_CACHE", "0")
    assert embedded() == embedded() == TEXTS
    assert not folder.exists()
    monkeypatch.setenv("DROPGLM_EMBEDDING_CACHE", "no")
    with pytest.raises(ValueError, match=r"must be a number of megabytes, 0 for no cache, but is 'no'\."):
        embedded()


def test_the_oldest_rows_make_room(monkeypatch):
    bytes_per_row = 3 * 4 + 64
    monkeypatch.setenv("DROPGLM_EMBEDDING_CACHE", f"{100 * bytes_per_row / 1e6:.6f}")
    embedded(TEXTS[:100])
    assert embedded(TEXTS[:100]) == []
    embedded(TEXTS[100:150])
    assert embedded(TEXTS[50:150]) == []
    assert embedded(TEXTS[:100]) == TEXTS[:50]


@pytest.mark.parametrize(
    "content", [b"not a database" * 1000, b"SQLite format 3\0" + bytes(5000), b""], ids=repr
)
def test_a_damaged_file_is_no_error_and_is_replaced(content):
    path = cache_file("counting", "1")
    path.parent.mkdir()
    path.write_bytes(content)
    assert embedded() == TEXTS
    if content:
        assert embedded() == TEXTS  # by a process that finds no file
    assert embedded() == []


def test_pages_that_are_overwritten_while_a_process_runs_are_no_error():
    model = Counting()
    encoder = Encoder("counting", model, "1")
    embed(encoder, TEXTS)
    path = cache_file("counting", "1")
    with sqlite3.connect(path) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file.close()
    path.write_bytes(path.read_bytes()[:100] + os.urandom(path.stat().st_size - 100))
    np.testing.assert_array_equal(embed(encoder, TEXTS), lengths(TEXTS).astype(np.float32))
    assert embedded() == TEXTS


def test_a_row_of_another_length_or_with_nan_is_encoded_again():
    embedded()
    with sqlite3.connect(cache_file("counting", "1")) as file:
        file.execute("UPDATE rows SET embedding = ? WHERE key = ?", (b"1234", key_of(TEXTS[3])))
        nan = np.full(3, np.nan, "<f4").tobytes()
        file.execute("UPDATE rows SET embedding = ? WHERE key = ?", (nan, key_of(TEXTS[5])))
    file.close()
    assert embedded() == [TEXTS[3], TEXTS[5]]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DROPGLM_CACHE", str(tmp_path / "file"))
    assert embedded() == embedded() == TEXTS


def test_a_file_that_is_locked_for_long_is_no_error(monkeypatch):
    monkeypatch.setattr("dropglm.text.embedding_cache.SECONDS", 0.05)
    embedded(TEXTS[:FEWEST])
    file = sqlite3.connect(cache_file("counting", "1"), isolation_level=None)
    file.execute("BEGIN IMMEDIATE")
    assert set(embedded()) >= set(TEXTS[FEWEST:])
    file.close()


PROCESS = """
import sys
import numpy as np
from dropglm.text.embeddings import embed
from dropglm.text.encoders import Encoder

class Slow:
    def encode(self, texts):
        import time
        time.sleep(0.01)
        return np.array([[len(text), text.count("1")] for text in texts])

texts = [f"text {n}" for n in range(*map(int, sys.argv[1:]))]
E = embed(Encoder("slow", Slow(), "1"), texts)
assert E.tolist() == [[len(text), text.count("1")] for text in texts]
"""


def test_processes_that_write_at_once_lose_nothing():
    ranges = [(0, 3000), (1500, 4500), (0, 4500)]
    run = [sys.executable, "-c", PROCESS]
    processes = [subprocess.Popen([*run, *map(str, some)], stderr=subprocess.PIPE) for some in ranges]
    assert [process.communicate()[1] for process in processes] == [b""] * 3
    assert [process.returncode for process in processes] == [0] * 3
    texts = [f"text {n}" for n in range(4500)]
    expected = np.array([[len(text), text.count("1")] for text in texts], np.float32)
    probes = np.array([[len(text), text.count("1")] for text in PROBES], np.float32)
    E, is_known = EmbeddingCache(cache_file("slow", "1"), probes).read(texts)
    assert is_known.all()
    np.testing.assert_array_equal(E, expected)


def test_many_rows_are_read_in_a_fraction_of_a_second(tmp_path):
    texts = [f"text {n}" for n in range(5000)]
    rows = np.random.default_rng(0).normal(size=(5000, 512)).astype(np.float32)
    cache = EmbeddingCache(tmp_path / "rows.sqlite", np.ones((3, 512), np.float32))
    cache.add(texts, rows)
    start = time.perf_counter()
    E, is_known = cache.read(texts)
    assert time.perf_counter() - start < 0.5
    assert is_known.all()
    np.testing.assert_array_equal(E, rows)


def test_a_named_encoder_is_kept_under_its_name(monkeypatch, folder):
    model = Counting()
    monkeypatch.setitem(encoders.ENCODERS, "fake", Source("json", "numpy", lambda *_: model, in_package=True))
    monkeypatch.setattr(encoders, "_loaded", encoders.load_embedder)
    embed("fake", TEXTS)
    embed("fake", TEXTS)
    assert model.seen == TEXTS
    assert [path.name.split("-")[:2] for path in folder.glob("*.sqlite")] == [["fake", np.__version__]]
