"""Embeddings in labelling: they are computed in the background, and later models use them."""

import threading

import numpy as np
import pytest

from dropglm.labelling import LabellingSession, TextPool
from dropglm.labelling.output_files import train_model

NOUNS = ("film", "song", "cast", "plot", "book", "play", "tale", "show", "opera", "novel")
TEXTS = [f"this {noun} number {n}" for n in range(6) for noun in NOUNS]
TRUTH = np.random.default_rng(1).permutation(["even", "odd"] * 30).tolist()  # which no word shows
SETTINGS = {"classes": ["even", "odd"], "seed": 0}


def embedder(texts):
    """Return embeddings that show what words do not, the class."""
    rng = np.random.default_rng(0)
    side = [1.0 if TRUTH[TEXTS.index(text)] == "even" else -1.0 for text in texts]
    return np.column_stack([side, rng.normal(0.0, 0.1, (len(texts), 3))])


def labels_of(numbers):
    return {number: TRUTH[number] for number in numbers}


def accuracy(model):
    return np.mean([model.classes[k] == truth for k, truth in zip(model.predicted, TRUTH, strict=True)])


def test_models_of_a_pool_use_embeddings_and_explain_what_they_predict():
    pool, E = TextPool(TEXTS), embedder(TEXTS)
    known = labels_of(range(0, 60, 3))
    model = pool.with_embeddings(E).fit(known)
    assert accuracy(model) == 1.0 > accuracy(pool.fit(known))
    np.testing.assert_allclose(model.predict_proba(TEXTS, E), model.probabilities, rtol=1e-4)
    words = dict(model.words_behind(5))
    explained = model.text_model.explain(TEXTS[5], E[5])
    assert words == pytest.approx(
        {one.ngram: one.weight for one in explained.contributions[:8] if one.weight}
    )
    with pytest.raises(ValueError, match="pass those of the texts as embeddings"):
        model.predict_proba(TEXTS)
    with pytest.raises(ValueError, match="has 59 rows, but X has 60 texts"):
        pool.with_embeddings(E[1:])


def wait_for_embeddings(session):
    for thread in session._learner._threads[1:]:
        thread.join(30)
    assert session._learner.wait(30)


def test_labelling_starts_before_texts_are_embedded(tmp_path):
    go_on = threading.Event()

    def slow(texts):
        assert go_on.wait(30)
        return embedder(texts)

    with LabellingSession(TEXTS, tmp_path / "labels.jsonl", embedder=slow, **SETTINGS) as session:
        for _ in range(20):
            session.answer(TRUTH[session.current.number])
        assert session._learner.wait(30)
        assert session.snapshot.model.pool.scaling is None
        assert session.snapshot.is_useful
        go_on.set()
        wait_for_embeddings(session)
        assert session.snapshot.model.pool.scaling is not None
        guessed = session.snapshot.probabilities.argmax(axis=1)
        assert [SETTINGS["classes"][session.snapshot.classes[k]] for k in guessed] == TRUTH
        assert session._learner.n_embedded == len(TEXTS)
    assert session.has_ended


def test_labelling_goes_on_if_texts_cannot_be_embedded(tmp_path, capsys):
    def fails(texts):
        raise RuntimeError("no memory.")

    with LabellingSession(TEXTS, tmp_path / "labels.jsonl", embedder=fails, **SETTINGS) as session:
        for _ in range(12):
            session.answer(TRUTH[session.current.number])
        wait_for_embeddings(session)
        assert session.problem is None
        assert session.snapshot.is_useful
    said = capsys.readouterr().err
    assert said == "dropglm: Models use words only, since texts could not be embedded: no memory.\n"


# Words are of no use here.
@pytest.mark.filterwarnings("ignore:The 40 texts without labels did not improve:UserWarning")
def test_the_exported_model_uses_the_embedder(tmp_path):
    known = labels_of(range(0, 60, 3))
    with LabellingSession(TEXTS, tmp_path / "labels.jsonl", labels=known, embedder=table, seed=0) as session:
        model = train_model(session)
    assert model.embedder is table
    assert model.summary_.embedding["name"] == "table"
    assert np.mean(model.predict(TEXTS) == TRUTH) == 1.0


def table(texts):
    """Return the embeddings of texts of the pool, and of others that are used to recognise an embedder."""
    return np.vstack([embedder([text]) if text in TEXTS else np.ones((1, 4)) for text in texts])
