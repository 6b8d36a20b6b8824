import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from dropglm import Blocks, BlockTransformer, LogisticRegression, LogisticRegressionCV, PerBlock

STEPS = [
    ("words", TfidfVectorizer(), "text"),
    ("numbers", StandardScaler(), ["length", "stars"]),
    ("source", OneHotEncoder(), ["source"]),
]


@pytest.fixture
def table(rng):
    labels = rng.integers(2, size=60)
    return pd.DataFrame(
        {
            "text": [f"{('bad', 'good')[label]} film w{rng.integers(9)}" for label in labels],
            "length": rng.normal(size=60),
            "stars": labels + rng.normal(size=60),
            "source": rng.choice(["web", "paper"], size=60),
            "label": labels,
        }
    )


def test_blocks_are_the_results_of_the_transformers(table):
    blocks = BlockTransformer(STEPS)
    X = blocks.fit_transform(table)
    assert isinstance(X, Blocks)
    assert [sparse.issparse(block) for block in X.blocks] == [True, False, True]
    theirs = ColumnTransformer(STEPS).fit(table)
    assert_array_equal(X.toarray(), sparse.csr_array(theirs.transform(table)).toarray())
    assert_array_equal(blocks.transform(table).toarray(), X.toarray())
    assert_array_equal(blocks.get_feature_names_out(), theirs.get_feature_names_out())
    assert blocks.output_indices_ == theirs.output_indices_
    assert X.widths == tuple(
        blocks.named_transformers_[name].get_feature_names_out().size for name, *_ in STEPS
    )


def test_other_columns_are_dropped_or_become_the_last_block(table):
    steps = [*STEPS[:1], ("numbers", "drop", ["length"])]
    assert len(BlockTransformer(steps).fit_transform(table).blocks) == 1
    numeric = table.drop(columns=["source", "text"])
    X = BlockTransformer([("numbers", StandardScaler(), ["length"])], remainder="passthrough")
    assert X.fit_transform(numeric).widths == (1, 2)


def test_the_blocks_are_not_turned_into_a_table(table):
    with sklearn.config_context(transform_output="pandas"):
        X = BlockTransformer(STEPS[1:2]).fit_transform(table)
    assert isinstance(X, Blocks)


def test_a_pipeline_is_split_tuned_and_cloned(table):
    model = Pipeline(
        [("blocks", BlockTransformer(STEPS)), ("model", LogisticRegression(dropout=PerBlock(0.5, 0.0, 0.1)))]
    )
    assert cross_val_score(clone(model), table, table["label"]).mean() > 0.9
    grid = {"model__noise_std": [0.0, PerBlock(0.0, 0.5, 0.0)], "blocks__words__use_idf": [True, False]}
    search = GridSearchCV(model, grid, cv=3).fit(table, table["label"])
    assert search.score(table, table["label"]) > 0.9
    model.set_params(model=LogisticRegressionCV(cv=3)).fit(table, table["label"])
    assert len(model["model"].coef_blocks_) == 3


def test_unlabelled_rows_pass_through_the_pipeline(table):
    with sklearn.config_context(enable_metadata_routing=True):
        model = Pipeline(
            [
                ("blocks", BlockTransformer(STEPS)),
                ("model", LogisticRegression(dropout=PerBlock(0.5, 0.0, 0.0))),
            ],
            transform_input=["X_unlabeled"],
        )
        model.fit(table[:20], table["label"][:20], X_unlabeled=table[20:])
    blocks = BlockTransformer(STEPS).fit(table[:20])
    alone = clone(model["model"]).fit(
        blocks.transform(table[:20]), table["label"][:20], X_unlabeled=blocks.transform(table[20:])
    )
    assert_allclose(model["model"].coef_, alone.coef_, rtol=1e-9)
    labels_only = clone(model["model"]).fit(blocks.transform(table[:20]), table["label"][:20])
    assert np.abs(labels_only.coef_ - alone.coef_).max() > 1e-3
