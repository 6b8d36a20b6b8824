"""Probabilities are calibrated on the texts drawn at random, and lists are accepted with a check."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from scipy.stats import betabinom

from dropglm import load_model
from dropglm.labelling import LabellingSession
from dropglm.labelling.calibration import CHOSEN, PRIOR, Calibration, right_among
from dropglm.labelling.output_files import Exports
from dropglm.labelling.panels import right_among_surest, surest
from tests.cli.command import texts

TEXTS, TRUTH = texts(120)


def held_out(n=60, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.3, 0.3, 0.3], n) * 0.99 + 0.01 / 3
    return p, rng.integers(0, 3, n), rng.random(n) < 0.4


def test_the_scale_minimises_the_penalised_loss():
    p, y, drawn = held_out()
    weights = np.where(drawn, 1.0, CHOSEN)

    def loss(t):
        own = log_softmax(t * np.log(p), axis=1)[np.arange(len(y)), y]
        return -weights @ own + 0.5 * PRIOR.strength * (t - PRIOR.mean) ** 2

    found = Calibration.of(p, y, drawn)
    best = minimize_scalar(loss, bounds=(PRIOR.smallest, 3.0), method="bounded", options={"xatol": 1e-10}).x
    assert found.scale == pytest.approx(best, abs=1e-6)
    q = np.exp(log_softmax(found.scale * np.log(p[drawn]), axis=1))
    np.testing.assert_allclose(found.sureness, q.max(axis=1))
    assert found.right.tolist() == (q.argmax(axis=1) == y[drawn]).tolist()


def test_without_texts_drawn_at_random_probabilities_stay_as_they_are():
    p, y, drawn = held_out()
    assert Calibration.of(p, y, np.zeros_like(drawn)).scale == 1.0


@pytest.mark.parametrize("checks", [[], [True, True, False], [False] * 4])
def test_the_number_of_right_texts_is_beta_binomial(checks):
    p = np.linspace(0.7, 0.9, 20)
    known = Calibration(sureness=np.array([0.95, 0.75, 0.6]), right=np.array([True, False, False]))
    found = right_among(p, known, checks)
    right = [True, False, *checks]  # the third is less sure than the last text of the list
    a = 8 * p.mean() + sum(right)
    b = 8 * (1 - p.mean()) + len(right) - sum(right) + 0.5
    assert found.right == pytest.approx(betabinom.mean(20, a, b))
    assert (found.low, found.high) == tuple(betabinom.ppf([0.025, 0.975], 20, a, b))


def test_a_pool_model_is_scaled_by_what_held_out_texts_show(topics):
    pool, truth = topics
    labels = {number: truth[number] for number in range(40)} | dict.fromkeys(range(40, 52), "sport")
    before, model = pool.fit(labels), pool.fit(labels, drawn=range(30, 52))
    scale = model.calibration.scale
    assert scale < 0.9  # half of the texts drawn at random have wrong labels
    np.testing.assert_allclose(
        model.probabilities, np.exp(log_softmax(scale * np.log(before.probabilities), axis=1)), rtol=1e-4
    )
    np.testing.assert_allclose(
        model.predict_proba(pool.texts[100:110]), model.probabilities[100:110], atol=1e-5
    )
    assert len(model.calibration.right) == 22
    again = pool.fit(labels | {60: truth[60]}, model, drawn=range(30, 52))
    assert again.calibration is model.calibration


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A journal with thirteen texts drawn at random."""
    path = tmp_path_factory.mktemp("known") / "a.labels.jsonl"
    with LabellingSession(TEXTS, path, classes=["good", "bad"], seed=0, random_share=0.5) as session:
        for _ in range(20):
            assert session.wait(300)
            number = session.current.number
            if len(session.answers.outcomes()) < 10:
                with pytest.raises(ValueError, match="when it is known how many are right"):
                    session.accept({number: TRUTH[number]})
            session.answer(TRUTH[number])
        while len(session.answers.outcomes()) < 10:
            assert session.wait(300)
            session.answer(TRUTH[session.current.number])
    return path.read_bytes()


def test_accepted_texts_are_asked_again_and_enter_the_estimate(tmp_path, known):
    (tmp_path / "a.labels.jsonl").write_bytes(known)
    with LabellingSession(TEXTS, tmp_path / "a.labels.jsonl", seed=0) as session:
        assert session.wait(300)
        found = surest(session, "good")
        before = right_among_surest(session, "good", found)
        assert before.texts == 20
        session.accept({number: "good" for number, _ in found})
        due = session.answers.due_checks()
        assert len(due) == 4
        assert set(due) <= {number for number, _ in found}
    with LabellingSession(TEXTS, tmp_path / "a.labels.jsonl", seed=0) as session:
        assert session.answers.due_checks() == due
        asked = []
        while session.answers.due_checks():
            assert session.wait(300)
            if session.current.source == "check":
                assert session.current.guess is None
                asked.append((len(session.answers.by_text), session.current.number))
                session.answer("bad" if len(asked) < 3 else "good")
            else:
                session.answer(TRUTH[session.current.number])
        assert [number for _, number in asked] == due
        assert np.diff([n for n, _ in asked]).tolist() == [2, 2, 2]  # every third text
        assert session.answers.checks(session.answers.find_class("good")) == [False, False, True, True]
        assert session.wait(300)
        after = right_among_surest(session, "good", surest(session, "good"))
        assert after.right / after.texts < before.right / before.texts
        number = asked[-1][1]
        session.undo()
        while session.answers.due_checks() != [number]:
            session.undo()
        assert (session.current.number, session.current.source) == (number, "check")
        session.skip()
        assert session.answers.checks(session.answers.find_class("good")) == [False, False, True, False]
        while session.answers.due_checks() != due:
            session.undo()
        session.undo()  # of the acceptance itself: nothing is to be asked again
        assert session.answers.due_checks() == []
        assert session.current.source != "check"


@pytest.mark.filterwarnings("ignore:The .* texts without labels did not improve")
def test_the_export_is_calibrated_on_the_random_share(tmp_path, known):
    (tmp_path / "a.labels.jsonl").write_bytes(known)
    with LabellingSession(TEXTS, tmp_path / "a.labels.jsonl") as session:
        exports = Exports(session, tmp_path / "a")
        for what in ("labels", "model"):
            exports.start(what)
            exports.wait(300)
        drawn = session.answers.drawn()
    import polars as pl

    rows = pl.read_csv(tmp_path / "a.labelled.csv")
    assert rows.columns == ["text", "label", "drawn_at_random"]
    assert set(rows.filter("drawn_at_random")["text"]) == {TEXTS[number] for number in drawn}
    model = load_model(tmp_path / "a.model.skops")
    assert (len(model.evidence_), model.evidence_.kind) == (len(drawn), "estimate")
    assert model.summary_.search["accuracy"] == model.evidence_.right.mean()
