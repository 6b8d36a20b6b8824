"""Archives in the original layout are converted to the expected tables."""

import os
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from dropglm.datasets import DATASETS, fetch, load_dataset
from dropglm.datasets.corpora import PUNCTUATION
from tests.datasets.archives import served, small, tarred, zipped

FOLDER = os.environ.get("DROPGLM_DATA")

RT = {
    "sentence_polarity/rt-polarity.neg": b"so dull . \nworse \n",
    "sentence_polarity/rt-polarity.pos": "a gem \x97 really . \nmünch's insight \n".encode(),
}
SUBJ = {
    "subjectivity/plot.tok.gt9.5000": b"he leaves . \n",
    "subjectivity/quote.tok.gt9.5000": b"a caf\xe9 \x96 of sorts\x85 \n",
}
IMDB2K = {
    "movie_reviews/neg/cv999_1.txt": b"bad . \nworse . \n",
    "movie_reviews/neg/cv000_29416.txt": b"bad . \n",
    "movie_reviews/pos/cv123_7.txt": b"good . \n",
}
IMDB = {
    "aclImdb/test/neg/3_4.txt": b"meh",
    "aclImdb/train/unsup/10_0.txt": b"who knows",
    "aclImdb/train/unsup/9_0.txt": b"who",
    "aclImdb/train/neg/0_1.txt": b"no<br />no",
    "aclImdb/train/pos/12_10.txt": "très bien \x85\r\n".encode(),
    "aclImdb/train/pos/2_7.txt": b"fine",
    "aclImdb/train/labeledBow.feat": b"not read",
}
NEWS = {
    "20news-bydate-test/comp.graphics/38758": b"From: d\n\nlines",
    "20news-bydate-train/comp.windows.x/100000": b"From: b\n\nbuttons \xe9",
    "20news-bydate-train/comp.windows.x/66000": b"From: a\n\nwidgets\r\n",
    "20news-bydate-train/comp.graphics/5": b"From: c\nSubject: s\n\npixels",
    "20news-bydate-test/comp.windows.x/1": b"From: e\n\nwindows\n\nmore",
}


@pytest.fixture
def loaded(places, monkeypatch):
    """Return a function that loads a data set from a small archive through the cache."""

    def load(name, content, rows, members=None):
        with served(content) as (address, _):
            monkeypatch.setitem(DATASETS, name, small(name, address, content, rows, members))
            return load_dataset(name)

    return load


def test_punctuation_of_sentences_is_repaired(loaded):
    rt = loaded("rt", zipped(RT), 4, 2)
    assert list(rt.texts) == ["a gem — really .", "münch's insight", "so dull .", "worse"]
    assert list(rt.y) == [1, 1, 0, 0]
    subj = loaded("subj", zipped(SUBJ), 2)
    assert list(subj.texts) == ["a café – of sorts…", "he leaves ."]
    assert [subj.class_names[k] for k in subj.y] == ["subjective", "objective"]


def test_reviews_have_the_fold_of_their_file_name(loaded):
    data = loaded("imdb2k", zipped(IMDB2K), 3)
    assert list(data.texts) == ["good . \n", "bad . \n", "bad . \nworse . \n"]
    assert list(data.y) == [1, 0, 0]
    assert list(data.groups) == [1, 0, 9]


def test_imdb_has_three_parts_ordered_by_class_and_number(loaded):
    data = loaded("imdb", tarred(IMDB), 6)
    assert list(data.texts) == ["fine", "très bien \x85\r\n", "no<br />no"]
    assert list(data.y) == [1, 1, 0]
    assert list(data.unlabeled) == ["who", "who knows"]
    assert list(data.texts_test) == ["meh"]
    assert list(data.y_test) == [0]


def test_newsgroups_are_ordered_by_group_and_number_and_decoded_as_latin_1(loaded):
    data = loaded("20news", tarred(NEWS), 5)
    assert list(data.y) == ["comp.graphics", "comp.windows.x", "comp.windows.x"]
    assert data.texts[1:].tolist() == ["From: a\n\nwidgets\r\n", "From: b\n\nbuttons é"]
    assert list(data.y_test) == ["comp.graphics", "comp.windows.x"]


def test_a_pair_of_newsgroups_has_no_headers(loaded):
    data = loaded("xgraph", tarred(NEWS), 5)
    assert list(data.texts) == ["pixels", "widgets\r\n", "buttons é"]
    assert [data.class_names[k] for k in data.y] == ["comp.graphics", "comp.windows.x", "comp.windows.x"]
    assert list(data.texts_test) == ["lines", "windows\n\nmore"]


# The inverse: from a table to the archive that it was made from.


def original_sentences(frame, files, encoding):
    """Return files as they are distributed: blanks at line ends, dashes as control characters."""
    distributed = str.maketrans({meant: chr(code) for code, meant in PUNCTUATION.items()})
    lines = {name: frame.filter(label=label)["text"].to_list() for name, label in files.items()}
    return zipped(
        {n: "".join(f"{t} \n" for t in ts).translate(distributed).encode(encoding) for n, ts in lines.items()}
    )


def original_rt(frame):
    names = {"sentence_polarity/rt-polarity.neg": 0, "sentence_polarity/rt-polarity.pos": 1}
    return original_sentences(frame, names, "utf-8")


def original_subj(frame):
    names = {"subjectivity/plot.tok.gt9.5000": 0, "subjectivity/quote.tok.gt9.5000": 1}
    return original_sentences(frame, names, "latin-1")


def original_imdb2k(frame):
    return zipped(
        {
            f"movie_reviews/{('neg', 'pos')[row['label']]}/{row['id']}.txt": row["text"].encode()
            for row in shuffled(frame)
        }
    )


def original_20news(frame):
    return tarred(
        {
            f"20news-bydate-{row['split']}/{row['group']}/{row['id']}": row["text"].encode("latin-1")
            for row in shuffled(frame)
        }
    )


def shuffled(frame):
    return frame.sample(fraction=1.0, shuffle=True, seed=0).iter_rows(named=True)


@pytest.mark.skipif(FOLDER is None, reason="DROPGLM_DATA is not set")
@pytest.mark.parametrize("name", ["rt", "subj", "imdb2k", "20news"])
def test_the_archive_is_converted_to_the_stored_table(name, places, monkeypatch):
    table = DATASETS[name].table
    expected = pl.read_parquet(Path(FOLDER) / table.file)
    content = globals()[f"original_{name}"](expected)
    with served(content) as (address, _):
        entry = small(name, address, content, table.rows, table.archive.members)
        monkeypatch.setitem(DATASETS, name, entry)
        path = fetch(name)
    assert path.parent == places[1]
    assert_frame_equal(pl.read_parquet(path), expected)


@pytest.mark.skipif(FOLDER is None, reason="DROPGLM_DATA is not set")
@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_loads(name):
    data = load_dataset(name, download=False)
    rows = data.X if data.texts is None else data.texts
    assert rows.shape[0] == len(data.y) > 0
    known = DATASETS[name].rows
    if known is not None:
        parts = (data.y, data.unlabeled, data.y_test, data.y_validation)
        assert sum(len(part) for part in parts if part is not None) == known
    if isinstance(data.y[0], list):
        assert {tag for tags in (*data.y, *data.y_test) for tag in tags} == set(data.class_names)
        for sentences, tags in ((data.texts, data.y), (data.texts_test, data.y_test)):
            assert list(map(len, sentences)) == list(map(len, tags))
        return
    names = data.class_names if data.y.dtype.kind == "U" else range(len(data.class_names))
    assert set(data.y) == set(names)
    if data.y_test is not None:
        assert len(data.texts_test) == len(data.y_test)
        assert set(data.y_test) == set(names)
