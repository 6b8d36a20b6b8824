"""The summary says what unlabelled texts bring, and a warning says if they bring nothing."""

import numpy as np
import pytest

from dropglm import LogisticRegressionCV, TextClassifier
from dropglm.text.fitted_model import effect_line
from tests.text.synthetic import random_text

SEARCH = {"scoring": "neg_log_loss", "score": -0.43, "accuracy": 0.86}
EFFECT = {"score_without": -0.6, "accuracy_without": 0.75, "n_latent": 50, "rare_words": False, "rounds": 3}
EFFECT |= {"discount": 0.0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    y = np.array(["good", "bad", "odd"] * 8)
    more = [random_text(label, rng) for label in ["good", "bad", "odd"] * 60]
    return [random_text(label, rng) for label in y], y, more


@pytest.fixture(scope="module")
def model(data):
    texts, y, more = data
    one = {"dropout": 0.5, "l2_weights": "naive_bayes"}
    return TextClassifier(n_latent=4, cv=3, l2=(1.0, 0.1), **one).fit(texts, y, X_unlabeled=more)


def test_the_score_without_unlabelled_texts_is_that_of_a_search_on_labelled_ones(data):
    """Apart from the choice with unlabelled texts. Rows have any length, so held-out rows are not scaled."""
    texts, y, more = data
    settings = {"dropout": 0.5, "l2": 0.1, "l2_weights": "naive_bayes", "discount": 0.0, "cv": 3}
    settings |= {"calibrate": False, "naive_bayes": True}
    model = TextClassifier(**settings, n_latent=4, norm=None).fit(texts, y, X_unlabeled=more)
    alone = LogisticRegressionCV(**settings, extend_l2=False)
    alone.fit(model.vectorizer_.transform(texts), y)
    effect, table = model.summary_.unlabeled_effect, model.search_.cv_results_
    scores = np.array([table[f"split{fold}_test_score"] for fold in range(3)])  # of folds of equal size
    best = model.search_.best_index_
    without = [np.delete(scores, fold, axis=0).mean(axis=0).argmax() for fold in range(3)]
    optimism = np.mean([scores[fold, best] - scores[fold, k] for fold, k in enumerate(without)])
    assert effect["score_without"] == pytest.approx(alone.best_score_ - optimism, rel=1e-3)
    predicted = alone.classes_[alone.cv_probabilities_.argmax(axis=1)]
    assert effect["accuracy_without"] == np.mean(predicted == y)
    assert alone.cv_results_["accuracy"][alone.best_index_] == effect["accuracy_without"]


def test_the_summary_says_how_the_model_uses_unlabelled_texts(model):
    summary, search = model.summary_, model.search_
    effect = summary.unlabeled_effect
    chosen = [weight < np.inf for weight in search.l2_weights_.values[1:]]
    assert effect["n_latent"] == 4 * sum(chosen)
    assert effect["rare_words"] == chosen[1]
    assert effect["rounds"] == len(search.rounds_)
    assert search.rounds_  # so that the scores of the folds are not those of the table
    before = [search.cv_results_[f"split{k}_test_score"][search.best_index_] for k in range(3)]
    assert not np.allclose(search.best_scores_, before)
    error = search.best_scores_.std(ddof=1) / np.sqrt(3)
    assert summary.search["standard_error"] == pytest.approx(error)
    assert summary.search["score"] == search.best_score_ > effect["score_without"]
    assert ("unlabelled texts", effect_line(effect, summary.search)) in summary.lines()
    assert "PerBlock" not in str(summary)
    assert summary.settings["l2_weights"] == "naive_bayes"
    assert summary.settings["dropout"] == 0.5
    assert "discount" not in str(summary)


@pytest.mark.parametrize(
    ("effect", "search", "line"),
    [
        (
            {},
            {},
            "log loss 0.4300 instead of 0.6000, accuracy 0.8600 instead of 0.7500 without them; 50 latent "
            "features, 3 rounds of naive Bayes",
        ),
        (
            {"score_without": 0.7, "rare_words": True, "rounds": 1},
            {"scoring": "accuracy", "score": 0.8},
            "accuracy 0.8000 instead of 0.7000 without them; 50 latent features that give rare words more "
            "weight, 1 round of naive Bayes",
        ),
        (
            {"n_latent": 0, "rounds": 0, "score_without": -0.43, "accuracy_without": 0.86},
            {},
            "log loss 0.4300 instead of 0.4300, accuracy 0.8600 instead of 0.8600 without them; not used",
        ),
        (
            {"n_latent": 0, "score_without": None, "accuracy_without": None, "discount": 0.1},
            {},
            "3 rounds of naive Bayes, discount 0.1",
        ),
    ],
)
def test_line_of_the_summary(effect, search, line):
    assert effect_line(EFFECT | effect, SEARCH | search) == line


def test_unlabelled_texts_that_bring_nothing_get_a_warning(data):
    texts, y, more = data
    model = TextClassifier(n_latent=0, rounds=0, cv=3, l2=(1.0, 0.1), characters=None)
    with pytest.warns(UserWarning, match="labels did not improve") as found:
        model.fit(texts, y, X_unlabeled=more)
    loss = -model.search_.best_score_
    assert str(found[0].message) == (
        f"The 180 texts without labels did not improve the cross-validated log loss ({loss:.4f} without, "
        f"{loss:.4f} with); compare models with and without them on labelled texts that you hold out."
    )
    assert found[0].filename == __file__
    assert str(model.summary_).count("not used") == 1


def test_no_comparison_if_every_candidate_uses_unlabelled_texts(data):
    texts, y, more = data
    model = TextClassifier(discount=0.1, n_latent=0, rounds=0, cv=3, l2=0.1).fit(texts, y, X_unlabeled=more)
    assert model.summary_.unlabeled_effect["score_without"] is None
    assert ("unlabelled texts", "discount 0.1") in model.summary_.lines()
    assert model.summary_.settings["discount"] == 0.1


def test_no_line_without_unlabelled_texts_or_without_tuning(data):
    texts, y, more = data
    assert TextClassifier(tune=False).fit(texts, y, X_unlabeled=more).summary_.unlabeled_effect is None
    assert TextClassifier(l2=0.1, cv=2).fit(texts, y).summary_.unlabeled_effect is None


def test_files_hold_the_line(model, tmp_path):
    model.save(tmp_path / "new.skops")
    assert str(TextClassifier.load(tmp_path / "new.skops").summary_) == str(model.summary_)
