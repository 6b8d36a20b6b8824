"""Tables: each text has its own n-grams, and numbers and categories are parts of the same model."""

import json
from collections import Counter
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dropglm import NgramVectorizer, TableClassifier, TextClassifier, load_model
from dropglm.base.errors import InputError, InputTypeError
from dropglm.places.partitions import Rows, SerialEngine
from dropglm.text.columns import (
    Categories,
    ColumnCode,
    ColumnFeatures,
    Columns,
    NumberScale,
    count_values,
    counts_by_column,
    kind_of,
)
from dropglm.text.partitioned import TextsInPartitions
from dropglm.text.training import fit_to_texts

N = 160
WORDS = ["film", "cast", "plot", "fun", "dull", "moving", "long", "warm", "don't", "!", "so"]


def table(n=N, seed=0):
    """Return rows whose label depends on words, bends with a number and depends on a category."""
    rng = np.random.default_rng(seed)
    price, country = rng.lognormal(3.0, 1.0, n), rng.choice(["de", "fr", "it", None], n)
    words = [" ".join(rng.choice(WORDS, 5)) for _ in range(n)]
    titles = [" ".join(rng.choice([*WORDS, "good", "bad"], 3)) for _ in range(n)]
    eta = 2.0 * np.abs(np.log(price) - 3.0) - 1.5 + np.where(country == "de", 1.5, 0.0)
    eta += np.array([("good" in title) * 2.0 - ("bad" in title) * 2.0 for title in titles])
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no")
    missing = rng.random(n) < 0.1
    X = pl.DataFrame(
        {
            "body": words,
            "title": titles,
            "price": [None if gone else float(value) for gone, value in zip(missing, price, strict=True)],
            "country": country.tolist(),
            "day": [date(2026, 1, 1 + k % 28) for k in range(n)],
        }
    )
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return TableClassifier(text=["title", "body"], n_jobs=2).fit(X, y)


# N-grams of several texts


@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
@pytest.mark.parametrize("norm", ["l2", "l1", None])
def test_rows_of_texts_are_those_of_each_text_side_by_side(analyzer, norm):
    rows = [{"a": "so dull", "b": "a dull film, so"}, {"a": "lovely", "b": ""}, {"a": "So dull", "b": None}]
    settings = {"analyzer": analyzer, "ngram_range": (1, 2), "use_idf": True, "norm": norm, "binary": False}
    vectorizer = NgramVectorizer(fields=["a", "b"], **settings)
    X = vectorizer.fit_transform(map(json.dumps, rows))
    parts = [
        NgramVectorizer(**settings).fit_transform([row[name] or "" for row in rows]) for name in ("a", "b")
    ]
    power = {"l2": np.sqrt(2.0), "l1": 2.0, None: 1.0}[norm]
    assert_allclose(X.toarray(), sparse.hstack(parts).toarray() / power, rtol=1e-6)
    assert_array_equal(vectorizer.transform(map(json.dumps, rows)).toarray(), X.toarray())


def test_stop_words_are_dropped_in_every_text():
    rows = [json.dumps({"a": "so dull", "b": "so so lovely so"})]
    vectorizer = NgramVectorizer(fields=["a", "b"], stop_words=["so"], ngram_range=(1, 2))
    vectorizer.fit(rows)
    assert [name[1:] for name in vectorizer.get_feature_names_out()] == ["dull", "lovely"]


# Features of columns


def test_numbers_become_shares_normal_scores_and_hats():
    scale = NumberScale.of(Counter(range(1, 101)))
    rows, columns, values = scale.entries(np.array([50.0, np.nan, -1e9, 1e9]))
    dense = sparse.coo_array((values, (rows, columns)), shape=(4, scale.width)).toarray()
    assert not dense[1].any()
    assert_allclose(dense[:, 1:].sum(axis=1), [2.0, 0.0, 2.0, 2.0])  # each set of hats sums to 1
    assert_allclose(dense[2, 0], -dense[3, 0])
    assert abs(dense[0, 0]) < 0.02


def test_units_and_monotone_maps_of_a_number_do_not_matter():
    X, y = table()
    log = X.with_columns(pl.col("price").log())
    a, b = (TableClassifier(text="title", tune=False, min_df=1).fit(one, y) for one in (X, log))
    assert_allclose(a.predict_proba(X), b.predict_proba(log), atol=1e-5)


def test_categories_of_a_single_row_and_unseen_ones_share_a_feature():
    categories = Categories.of(Counter({"de": 2, "it": 1, "fr": 1, None: 1}))
    assert categories.entries(["de", "it", "at", None])[1].tolist() == [0, 1, 1, 2]


def test_dates_have_days_weekdays_and_months():
    code = ColumnCode.of("day", Counter({"2026-11-19": 2, "2026-11-20": 2, None: 1}), numeric=True)
    assert code.is_date
    assert code.categories[0].names == ("Friday", "Thursday")
    assert code.categories[1].names == ("11",)
    assert_array_equal(code.scale.grid, [20776.0, 20777.0])


def test_the_rows_of_each_block_have_length_one_on_average():
    X, _ = table()
    columns = Columns(("title",), ("price", "day"), ("country",))
    rows = columns.rows(X)
    features = ColumnFeatures.of(
        columns, counts_by_column(count_values(rows, columns.others), columns.others)
    )
    features = features.with_sizes(features.squares(features(rows)), len(rows))
    assert_allclose(features.squares(features(rows)) / len(rows), [1.0, 1.0], rtol=1e-5)


# Which columns there are


def test_columns_are_found_by_type(fitted):
    assert str(fitted.columns_) == "text: title, body; numeric: price, day; categorical: country"
    X, y = table()
    found = TableClassifier(tune=False).fit(X.with_columns(one=1), y).columns_
    assert found.text == ("body", "title")
    assert found.left_out == {"one": "a single value"}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, None], "numeric"),
        (["1.5", "", "2"], "numeric"),
        (["2026-01-01", "2026-01-02T10:00"], "numeric"),
        ([date(2026, 1, 1), date(2026, 1, 2)], "numeric"),
        ([True, False], "categorical"),
        (["a", "b"] * 20, "categorical"),
        ([f"x{k}" for k in range(40)], "text"),
        (["one two three four five six seven", "b"] * 20, "categorical"),
        (["one two three four five six seven eight nine ten eleven twelve thirteen", "b"] * 20, "text"),
    ],
)
def test_kinds_of_columns(values, kind):
    assert kind_of(values)[0] == kind


def test_all_kinds_of_frames_give_the_same_model(fitted):
    X, y = table()
    p = fitted.predict_proba(X)
    others = [X.to_pandas(), X.to_arrow(), X.to_dict(as_series=False), X.to_dicts()]
    for other in others:
        assert_array_equal(fitted.predict_proba(other), p)
    settings = {"text": "title", "tune": False}
    models = [TableClassifier(**settings).fit(one, y) for one in (X, X.to_pandas(), X.to_arrow())]
    for model in models[1:]:
        assert_array_equal(model.model_.coef_, models[0].model_.coef_)
        assert_array_equal(model._fitted.columns.coef, models[0]._fitted.columns.coef)
    assert isinstance(others[1], pa.Table)


def test_a_single_text_is_the_model_of_a_text_classifier():
    X, y = table()
    alone = TableClassifier(text="title", numeric=[], categorical=[]).fit(X, y)
    plain = TextClassifier().fit(X["title"].to_list(), y)
    assert_array_equal(alone.model_.coef_, plain.model_.coef_)
    assert_array_equal(alone.predict_proba(X), plain.predict_proba(X["title"].to_list()))
    assert_array_equal(alone.predict(["a good film"]), plain.predict(["a good film"]))


# The model


def test_columns_are_used_if_they_say_something_and_numbers_bend(fitted):
    X, y = table(2000, seed=1)
    texts_only = TableClassifier(numeric=[], categorical=[], text=["title", "body"]).fit(*table())
    loss, loss_of_texts = (
        -np.log(model.predict_proba(X)[np.arange(len(y)), (y == "yes").astype(int)]).mean()
        for model in (fitted, texts_only)
    )
    assert loss < loss_of_texts - 0.05
    row = {"title": "film", "body": "cast", "country": "fr", "day": date(2026, 1, 5)}
    low, middle, high = fitted.predict_proba([row | {"price": price} for price in (1.5, 20.0, 300.0)])[:, 1]
    assert middle < min(low, high)


def test_explanations_are_exact(fitted):
    X, _ = table(20, seed=2)
    for row in X.to_dicts():
        why = fitted.explain(row)
        total = why.base_difference + sum(entry.weight for entry in why.contributions)
        assert abs(total - why.difference) < 1e-5
        names = [entry.ngram for entry in why.contributions]
        assert f"country: {row['country'] or 'missing'}" in names
        assert any(name.startswith("title: ") for name in names)


def test_several_classes_and_labels_are_explained_exactly():
    X, y = table()
    three = np.where(np.arange(N) % 7 == 0, "other", y)
    several = [[] if label == "no" else ["yes", "odd"][: 1 + k % 2] for k, label in enumerate(y)]
    for labels in (three, several):
        model = TableClassifier(text=["title", "body"], tune=False).fit(X, labels)
        why = model.explain(X.to_dicts()[3])
        total = why.base_difference + sum(entry.weight for entry in why.contributions)
        assert abs(total - why.difference) < 1e-5


def test_a_file_predicts_the_same_and_has_the_columns(fitted, tmp_path):
    X, _ = table(30, seed=3)
    fitted.save(tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    assert isinstance(loaded, TableClassifier)
    assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.columns_[:3] == fitted.columns_[:3]
    assert str(loaded.summary_) == str(fitted.summary_)
    assert loaded.set_params(tune=False).fit(*table()).columns_[:3] == fitted.columns_[:3]


@pytest.mark.filterwarnings("ignore:The 200 texts without labels did not improve:UserWarning")
def test_unlabelled_rows_and_an_embedder_work():
    X, y = table()
    more, _ = table(200, seed=4)

    def embedder(texts):
        return [[text.count("good"), text.count("bad"), len(text)] for text in texts]

    model = TableClassifier(text=["title", "body"], embedder=embedder).fit(X, y, X_unlabeled=more)
    assert model.summary_.unlabeled == 200
    assert model.summary_.embedding["dimension"] == 3
    gaps = [*y.tolist(), *[None] * len(more)]
    again = TableClassifier(text=["title", "body"], embedder=embedder).fit(pl.concat([X, more]), gaps)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_partitions_give_the_same_model(fitted):
    X, y = table()
    rows = fitted.columns_.rows(X)
    classifier = TextClassifier()
    classifier._columns = fitted.columns_
    parts = [Rows(k, rows[k::3], y[k::3], None, labeled=True) for k in range(3)]
    local = TableClassifier(text=["title", "body"]).fit(
        pl.concat([X[k::3] for k in range(3)]), np.concatenate([y[k::3] for k in range(3)])
    )
    found = fit_to_texts(classifier, TextsInPartitions(classifier, SerialEngine(), parts, []))
    assert_allclose(found.predict_proba(X), local.predict_proba(X), atol=2e-3)
    assert found.summary.columns == local.summary_.columns


# Refusals


def test_clear_sentences(fitted):
    X, y = table(10)
    with pytest.raises(
        InputError, match="X has no column 'price'; its columns: 'body', 'country', 'day', 'title'"
    ):
        fitted.predict(X.drop("price"))
    with pytest.raises(
        InputError, match=r"Row 3 of X \(counted from 0\) has 'abc' in column 'price', which is neither"
    ):
        fitted.predict(X.with_columns(price=pl.Series(["1", "2", "3", "abc", *"123456"])))
    with pytest.raises(InputError, match="column 'price', which is not finite"):
        fitted.predict(X.with_columns(price=pl.lit(np.inf)))
    with pytest.raises(
        InputError, match="Column 'price' has '2026-01-01', but the model knows numbers there"
    ):
        fitted.predict(X.with_columns(price=pl.lit("2026-01-01")))
    with pytest.raises(InputTypeError, match="must be a data frame, or a list of rows"):
        fitted.predict(3)
    with pytest.raises(InputError, match="not a JSON object"):
        fitted.predict(["a text"])
    with pytest.raises(InputError, match="There is no column of texts"):
        TableClassifier().fit(X.select("price", "day"), y)
    with pytest.raises(InputError, match="'title' is named twice"):
        TableClassifier(text="title", categorical="title").fit(X, y)
    with pytest.raises(InputError, match="'titel'"):
        TableClassifier(text="titel").fit(X, y)
    with pytest.raises(InputError, match="a pipeline of scikit-learn takes texts"):
        fitted.to_sklearn()
    with pytest.raises(InputError, match="has numbers and dates"):
        TableClassifier(text="title", numeric="x").fit(
            X.with_columns(x=pl.Series(["1", *["2026-01-01"] * 9])), y
        )


def test_missing_values_of_pandas_are_missing():
    frame = pd.DataFrame(
        {"t": ["a b", "c", "d"], "x": [1.0, np.nan, 3.0], "k": pd.array([1, None, 2], "Int64")}
    )
    rows = Columns(("t",), ("x", "k")).rows(frame)
    assert [json.loads(row)["x"] for row in rows] == [1.0, None, 3.0]
    assert [json.loads(row)["k"] for row in rows] == [1.0, None, 2.0]
