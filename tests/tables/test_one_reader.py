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


@st.composite
def columns(draw):
    """Draw texts and labels of one type."""
    labels = draw(
        st.one_of(*(st.lists(kind, min_size=2, max_size=9) for kind in (INTEGERS, FRACTIONS, NAMES)))
    )
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
    names = tables.class_names(labels)
    classes = tables.to_classes(names)
    with patch.object(SEPARATED, "SMALL", -1 if cut else 1 << 20):
        train_and_evaluate = read_labelled(source)
        assert train_and_evaluate[0] == texts
        np.testing.assert_array_equal(train_and_evaluate[1], classes)
        assert train_and_evaluate[1].dtype == classes.dtype
        for skip_bad in (False, True):  # predict, and train --online
            batches = list(source.batches(skip_bad=skip_bad, max_rows=max_rows, characters=characters))
            assert [text for batch in batches for text in batch.texts] == texts
            assert [name for batch in batches for name in batch.labels] == names
            assert [row for batch in batches for row in batch.rows] == list(range(1, len(texts) + 1))
            assert max(len(batch.rows) for batch in batches) <= max_rows
        if len(set(names)) > 1:
            assert find_classes(source, skip_bad=False) == Counter(names)
        parts = [read_rows([k, part], None) for k, part in enumerate(source.parts(size))]  # train --dask
        parts = [with_classes(part, tables.class_type(names)) for part in parts]
        assert [text for part in parts for text in part.X] == texts
        found = np.concatenate([part.y for part in parts])
        np.testing.assert_array_equal(found, classes)
        assert texts_and_labels(source) == (texts, dict(enumerate(names)), 0)  # label
