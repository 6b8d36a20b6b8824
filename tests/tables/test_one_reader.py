"""The same file gives the same texts, labels and classes at every door, in batches and parts of any size."""

import gzip
import sys
from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm import tables
from dropglm.cli.files import read_labelled
from dropglm.cli.label import texts_and_labels
from dropglm.dask.collections import read_rows, with_classes
from dropglm.tables import Table
from dropglm.text.online_text_model import find_classes
from tests.tables.rows import written

SEPARATED = sys.modules["dropglm.tables.separated"]
TEXTS = st.text(st.sampled_from('ab,;"\n\t é京😀'), max_size=12).map(lambda text: f"a{text}b")
INTEGERS, FRACTIONS = st.sampled_from([0, 1, -2]), st.sampled_from([1.0, 1.5, 2.0])
NAMES = st.sampled_from(["1", "1.0", "x", "é", "true"])


def any_label(labels):
    return any(label is not None for label in labels)


@st.composite
def columns(draw):
    """Draw texts and labels of one type, some of them missing."""
    kinds = [st.none() | kind for kind in (INTEGERS, FRACTIONS, NAMES)]
    labels = draw(st.one_of(*(st.lists(kind, min_size=2, max_size=9).filter(any_label) for kind in kinds)))
    return draw(st.lists(TEXTS, min_size=len(labels), max_size=len(labels))), labels


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet"])
@given(columns(), st.integers(1, 5), st.integers(1, 40), st.integers(1, 60), st.booleans())
def test_all_doors_agree(tmp_path_factory, format, compressed, table, max_rows, characters, size, cut):
    texts, labels = table
    data = written(texts, labels, format)
    path = tmp_path_factory.mktemp("tables") / f"a.{format}{'.gz' * compressed}"
    path.write_bytes(gzip.compress(data) if compressed else data)
    source = Table(str(path), "text", "label")
    names = [tables.class_name(label) for label in labels]
    kept = [k for k, name in enumerate(names) if name is not None]
    known = [names[k] for k in kept]
    classes = tables.to_classes(names)
    with patch.object(SEPARATED, "SMALL", -1 if cut else 1 << 20):
        labelled, without = read_labelled(source)  # train and evaluate
        assert labelled.texts == [texts[k] for k in kept]
        assert labelled.labels == known
        assert without.texts == [text for k, text in enumerate(texts) if k not in kept]
        assert sorted([*labelled.rows, *without.rows]) == list(range(1, len(texts) + 1))
        for skip_bad in (False, True):  # predict, and train --online
            batches = list(source.batches(skip_bad=skip_bad, max_rows=max_rows, characters=characters))
            assert [text for batch in batches for text in batch.texts] == texts
            assert [name for batch in batches for name in batch.labels] == names
            assert [row for batch in batches for row in batch.rows] == list(range(1, len(texts) + 1))
            assert max(len(batch.rows) for batch in batches) <= max_rows
        if len(set(known)) > 1:
            assert find_classes(source, skip_bad=False) == Counter(known)
        parts = [read_rows([k, part], None) for k, part in enumerate(source.parts(size))]  # train --dask
        parts = [with_classes(part, (tables.class_type(known), False)) for part in parts]
        assert [text for part in parts for text in part.X] == texts
        found = np.concatenate([part.y for part in parts])
        np.testing.assert_array_equal(found, classes)
        assert texts_and_labels(source) == (texts, dict(zip(kept, known, strict=True)), 0, {})  # label
