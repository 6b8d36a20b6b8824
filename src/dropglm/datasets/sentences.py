"""Sentences whose tokens have tags: chunks of English, and names in Spanish and Dutch.

``conll2000`` is the shared task on chunking, ``conll2002_esp`` and ``conll2002_ned`` are those on names. No
checksums of the originals are published, so they are found in a folder but not downloaded.
"""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from dropglm.datasets.dataset import DatasetEntry, StoredTable

CHUNKS = ("ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "UCP", "VP")
ENTITIES = ("LOC", "MISC", "ORG", "PER")


def build(frame: Any, language: str | None = None) -> dict[str, Any]:
    """Return the fields of ``Dataset``: lists of tuples of a token and its part of speech, and of tags."""
    fields: dict[str, Any] = {}
    parts = {"train": ("texts", "y"), "testa": ("texts_validation", "y_validation")}
    parts |= {"testb": ("texts_test", "y_test"), "test": ("texts_test", "y_test")}
    if language is not None:
        frame = frame.filter(frame["lang"] == language)
    for split in frame["split"].unique().to_list():
        rows = frame.filter(frame["split"] == split)
        sentences, tokens = rows["sentence_id"].to_numpy(), list(zip(rows["token"], rows["pos"], strict=True))
        ends = [*np.flatnonzero(np.diff(sentences, prepend=-1)).tolist(), len(tokens)]
        tags = rows["tag"].to_list()
        for field, items in zip(parts[split], (tokens, tags), strict=True):
            fields[field] = np.empty(len(ends) - 1, object)
            fields[field][:] = [items[start:end] for start, end in pairwise(ends)]
    return fields


def _tags(kinds: tuple[str, ...]) -> tuple[str, ...]:
    return (*(f"{place}-{kind}" for place in "BI" for kind in kinds), "O")


CONLL2000 = DatasetEntry(
    summary="sentences with chunks, such as noun phrases",
    rows=10_948,
    classes=_tags(CHUNKS),
    terms="No licence stated.",
    citation="Tjong Kim Sang, Buchholz: Introduction to the CoNLL-2000 Shared Task: Chunking, CoNLL 2000.",
    note=(
        "Rows are sentences, lists of tuples of a token and its part of speech; their labels are lists of "
        "tags. Source: github.com/nltk/nltk_data."
    ),
    build=build,
    table=StoredTable(
        file="conll2000.parquet",
        rows=259_104,
        columns={
            "split": "String",
            "sentence_id": "Int32",
            "token": "String",
            "pos": "String",
            "tag": "String",
        },
        origin="the chunks of github.com/nltk/nltk_data",
    ),
)


def _names(language: str, name: str, rows: int) -> DatasetEntry:
    return DatasetEntry(
        summary=f"{name} sentences with names of persons, places, organisations and others",
        rows=rows,
        classes=_tags(ENTITIES),
        terms="Research use in the context of the shared task only; no commercial use.",
        citation="Tjong Kim Sang: Introduction to the CoNLL-2002 Shared Task, CoNLL 2002.",
        note=(
            "Rows are sentences, lists of tuples of a token and its part of speech; their labels are lists "
            "of tags. testa are the validation rows, testb the test rows. Source: github.com/nltk/nltk_data."
        ),
        build=partial(build, language=language),
        table=StoredTable(
            file="conll2002.parquet",
            rows=678_377,
            columns={"lang": "String", **CONLL2000.table.columns} if CONLL2000.table else {},
            origin="the names of github.com/nltk/nltk_data",
        ),
    )


CONLL2002_ESP = _names("esp", "Spanish", 11_755)
CONLL2002_NED = _names("ned", "Dutch", 23_896)
