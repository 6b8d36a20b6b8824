import threading

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dropglm import TextClassifier
from dropglm.labelling import LabellingSession, TextPool
from dropglm.labelling.panels import accuracy_curve, known_accuracy, label_counts, surest, suspects
from dropglm.labelling.session import ChangedError
from tests.cli.command import texts

TEXTS, TRUTH = texts(120)
TRUTH = dict(enumerate(TRUTH))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.labels.jsonl"


def label_all(session, n):
    for _ in range(n):
        session.answer(TRUTH[session.current.number])


def test_the_model_learns_and_the_random_share_is_predicted_before_it_is_labelled(path):
    with LabellingSession(TEXTS, path, classes=["good", "bad"], seed=0) as session:
        seen = []
        for _ in range(60):
            assert session.wait(300)
            item = session.current
            assert item.number not in seen
            seen.append(item.number)
            if item.guess is not None:
                assert session.answers.classes[item.guess.label] in ("good", "bad")
                assert item.guess.words
            session.answer(TRUTH[item.number])
        assert session.wait(300)
        sources = [answer.source for answer in session.answers.by_text.values()]
        assert 12 <= sources.count("random") <= 14  # a fifth, and the first text
        outcomes = session.answers.outcomes()
        assert np.mean([right for _, right in outcomes[-5:]]) >= 0.8
        points, _ = accuracy_curve(session)
        _, found = points[-1]
        assert found.n == len(outcomes)
        assert found.low <= found.accuracy <= found.high
        assert f"about {100 * found.accuracy:.0f} % of the texts" in known_accuracy(session)
        assert session.problem is None
    with LabellingSession(TEXTS, path) as again:
        assert again.answers.labels() == {number: TRUTH[number] for number in seen}
        assert again.answers.outcomes() == outcomes
        assert again.wait(300)
        assert again.snapshot.n_labels == 60


def test_no_copy_of_an_answered_text_is_asked_for(path):
    doubled = [*TEXTS[:20], *(text.upper().replace(" ", "  ") for text in TEXTS[:20])]
    with LabellingSession(doubled, path, classes=["good", "bad"], seed=1) as session:
        shown = []
        while session.current is not None:
            shown.append(session.current.number)
            session.answer("good" if len(shown) % 2 else "bad")
            session.wait(300)
        assert sorted(shown) == list(range(20))


def test_the_random_share_waits_for_a_model_that_can_predict_it(path):
    """Without a guess it could not count; what was due is made up for, so that a fifth counts in the end."""
    with LabellingSession(TEXTS, path, classes=["good", "bad"], seed=0) as session:
        for _ in range(60):
            assert session.wait(300)
            session.answer(TRUTH[session.current.number])
        drawn = [answer for answer in session.answers.by_text.values() if answer.source == "random"]
        assert sum(answer.guess is None for answer in drawn) <= 1  # the first text, shown at once
        assert len(session.answers.outcomes()) == 12


def test_undo_shows_the_text_again_and_then_the_one_before(path):
    with LabellingSession(TEXTS, path, classes=["good", "bad"], seed=0) as session:
        first = session.current
        second = session.answer("good")
        session.skip()
        assert session.undo() == [second.number]
        assert session.current == second
        assert session.undo() == [first.number]
        assert session.current == first
        assert session.answers.by_text == {}
        with pytest.raises(ValueError, match="nothing to undo"):
            session.undo()
        assert session.answer("bad") == second
    with LabellingSession(TEXTS, path) as again:
        assert again.answers.labels() == {first.number: "bad"}
        assert again.undo() == [first.number]
        assert again.current.number == first.number


def test_correcting_another_text_leaves_the_current_one(path):
    with LabellingSession(TEXTS, path, classes=["good", "bad"], seed=0) as session:
        first = session.current
        second = session.answer("good")
        assert session.answer("bad", first.number) == second
        assert session.answers.labels() == {first.number: "bad"}
        session.undo()
        assert session.answers.labels() == {first.number: "good"}
        assert session.current == second


def test_a_bulk_answer_of_several_classes_is_one_action(path):
    with LabellingSession(TEXTS, path, classes=["good", "bad"], seed=0) as session:
        first = session.current.number
        second = session.answer("good").number
        third, fourth = [number for number in range(4) if number not in (first, second)][:2]
        lines = path.read_bytes().count(b"\n")
        session.answer_all({third: "bad", fourth: "good", second: "bad"})
        assert path.read_bytes().count(b"\n") == lines + 1
        assert session.current.number not in (first, second, third, fourth)
        assert label_counts(session).classes == [("good", 2), ("bad", 2)]
        session.undo()
        assert session.answers.labels() == {first: "good"}
        with pytest.raises(ValueError, match="no class “none”"):
            session.answer_all({third: "bad", fourth: "none"})
        assert session.answers.labels() == {first: "good"}


def test_a_bulk_answer_leaves_texts_alone_that_have_an_answer(path):
    with LabellingSession(TEXTS, path, classes=["good", "bad"], seed=0) as session:
        session.answer("bad", 0)
        session.skip(1)
        session.answer_all(dict.fromkeys(range(4), "good"))
        assert session.answers.labels() == {0: "bad", 2: "good", 3: "good"}
        session.undo()
        assert session.answers.labels() == {0: "bad"}
        with pytest.raises(ValueError, match="have an answer already"):
            session.answer_all({0: "good", 1: "good"})


def test_the_text_on_screen_gets_the_guess_of_a_model_that_has_not_seen_its_label(path):
    given = {number: TRUTH[number] for number in range(40)}
    with LabellingSession(TEXTS, path, labels=given, seed=0) as session:
        first = session.current
        assert (first.source, first.guess) == ("random", None)  # there is no model yet
        assert session.wait(300)
        assert session.current._replace(guess=None) == first
        assert session.current.guess.words
        session.answer(TRUTH[first.number])
        assert [number for number, _ in session.answers.outcomes()] == [first.number]
        assert session.wait(300)
        other = surest(session, "good")[0][0]
        session.answer("bad", other)
        assert session.wait(300)
        assert other in session.snapshot.labelled
        with session.lock:  # the next model must wait
            session.undo()
            assert (session.current.number, session.current.source) == (other, "search")
            assert session.current.guess is None
            assert other not in dict(surest(session, "bad", 120))
        assert session.wait(300)
        assert session.current.guess.probability == dict(surest(session, "good", 120))[other] > 0.5


def test_undo_takes_back_changes_of_the_classes_but_not_those_of_the_start(path):
    with LabellingSession(TEXTS, path, classes=["good", "bad"], labels={3: "odd"}) as session:
        with pytest.raises(ValueError, match="nothing to undo"):
            session.undo()
        session.answer("good", 0)
        session.add_class("typo")
        session.rename_class("bad", "poor")
        session.remove_class("typo")
        current = session.current
        for classes in (
            ["good", "poor", "odd", "typo"],
            ["good", "bad", "odd", "typo"],
            ["good", "bad", "odd"],
        ):
            assert session.undo() == []
            assert session.answers.classes == classes
        assert session.current == current
        assert session.answers.labels() == {0: "good", 3: "odd"}
        with pytest.raises(ValueError, match="“good” has labels"):
            session.remove_class("good")
        with pytest.raises(ValueError, match="no class “typo”"):
            session.remove_class("typo")
        session.remove_class("bad")
        assert session.answers.classes == ["good", "odd"]
    with LabellingSession(TEXTS, path) as again:
        assert again.answers.classes == ["good", "odd"]
        again.undo()
        assert again.undo() == [0]


def test_classes_are_added_and_renamed_and_survive_a_restart_with_the_old_names(path):
    with LabellingSession(TEXTS, path, classes=["good", "bad"], labels={3: "odd"}) as session:
        session.rename_class("good", "fine")
        session.add_class("  new ")
        assert session.answers.classes == ["fine", "bad", "odd", "new"]
        for name in ("", " ", "a\nb", "x" * 101, "bad", None):
            with pytest.raises(ValueError, match="class"):
                session.add_class(name)
        with pytest.raises(ValueError, match="no class “good”"):
            session.answer("good")
        version = session.version
    with LabellingSession(TEXTS, path, classes=["good", "bad"], labels={3: "odd"}) as again:
        assert again.version == version
        assert again.answers.classes == ["fine", "bad", "odd", "new"]


@pytest.mark.parametrize(
    ("n", "sentence"),
    [
        (1, "1 answered text cannot be found in it, and its answer is not used"),
        (2, "2 answered texts cannot be found in it, and their answers are not used"),
    ],
)
def test_answers_to_texts_that_are_gone_are_counted(path, n, sentence):
    with LabellingSession(TEXTS[:20], path, classes=["good", "bad"]) as session:
        for number in range(n):
            session.answer("good", number)
    with LabellingSession(TEXTS[n:20], path) as again:
        assert again.notices == [f"The table has changed: {sentence}."]


def test_who_has_not_seen_the_last_change_is_told(path):
    with LabellingSession(TEXTS, path, classes=["good", "bad"]) as session:
        seen = session.version
        session.answer("good", seen=seen)
        for action in (
            lambda: session.answer("bad", seen=seen),
            lambda: session.skip(seen=seen),
            lambda: session.undo(seen=seen),
            lambda: session.keep(0, seen=seen),
            lambda: session.add_class("c", seen=seen),
            lambda: session.rename_class("bad", "c", seen=seen),
            lambda: session.remove_class("bad", seen=seen),
            lambda: session.answer_all({1: "bad"}, seen=seen),
        ):
            with pytest.raises(ChangedError):
                action()
        assert session.version == seen + 1


def test_the_panels_list_suspicious_sure_and_found_texts(path):
    wrong = 7
    given = {number: TRUTH[number] for number in range(60)}
    given[wrong] = "good" if TRUTH[wrong] == "bad" else "bad"
    with LabellingSession(TEXTS, path, labels=given, seed=0) as session:
        assert session.wait(300)
        session.look_for_suspects()
        assert session.wait(300)
        first = suspects(session)[0]
        assert (first.row, first.label, first.predicted) == (wrong, given[wrong], TRUTH[wrong])
        session.keep(wrong)
        assert wrong not in [one.row for one in suspects(session)]
        session.undo()
        session.answer(first.predicted, wrong)
        assert wrong not in [one.row for one in suspects(session)]
        sure = surest(session, "good")
        assert len(sure) == 20
        assert all(TRUTH[number] == "good" and number >= 60 for number, _ in sure)
        assert [p for _, p in sure] == sorted((p for _, p in sure), reverse=True)
        assert surest(session, "none") == []
        assert "0 of 10 random texts" in known_accuracy(session)


def test_a_model_to_start_from_may_have_classes_that_are_not_strings(path):
    model = TextClassifier(tune=False, min_df=1).fit(TEXTS[:60], [TRUTH[n] == "good" for n in range(60)])
    with LabellingSession(TEXTS, path, start_from=model, seed=0) as session:
        assert session.wait(300)
        assert session.problem is None
        assert session.answers.classes == ["false", "true"]
        assert session.guess(0).words


def test_a_trained_model_guesses_from_the_first_text(path):
    model = TextClassifier(tune=False, min_df=1).fit(TEXTS[:60], [TRUTH[n] for n in range(60)])
    with LabellingSession(TEXTS, path, start_from=model, seed=0) as session:
        assert session.wait(300)
        assert session.answers.classes == ["bad", "good"]
        label_all(session, 1)
        assert session.current.guess is not None
        assert session.current.guess.words
        right = [session.answers.classes[session.guess(n).label] == TRUTH[n] for n in range(120)]
        assert np.mean(right) > 0.9
        label_all(session, 30)
        assert session.wait(300)
        np.testing.assert_allclose(session.snapshot.probabilities.sum(axis=1), 1.0, rtol=1e-6)


def test_without_words_labelling_goes_on_without_a_model(path):
    with LabellingSession(["<br>", "<p>", "<hr>"], path, classes=["a", "b"]) as session:
        for label in ("a", "b"):
            session.answer(label)
            assert session.wait(300)
            assert session.snapshot is None
            assert session.current.guess is None
        assert "none of the 3 texts has a token" in session.problem
        assert session.answer("a") is None


@pytest.mark.parametrize(
    ("error", "reason"), [(FloatingPointError("bad\nluck."), "bad luck"), (MemoryError(), "MemoryError")]
)
def test_after_a_fit_that_failed_the_next_label_is_learnt_from(path, monkeypatch, capfd, error, reason):
    def fails(*_):
        raise error

    with LabellingSession(TEXTS, path, classes=["good", "bad"], seed=0) as session:
        assert session.wait(300)
        learnt = session.snapshot
        with monkeypatch.context() as patch:
            patch.setattr(TextPool, "fit", fails)
            label_all(session, 1)
            assert session.wait(300)
        assert session.problem == (
            f"The model could not be fitted ({reason}); the next label starts another attempt."
        )
        assert capfd.readouterr().err == f"dropglm: {session.problem}\n"
        assert session.snapshot is learnt
        label_all(session, 1)
        assert session.wait(300)
        assert session.problem is None
        assert session.snapshot.version == session.version
    assert capfd.readouterr().err == ""


def test_features_that_could_not_be_computed_are_computed_with_the_next_label(path, monkeypatch):
    failures = [MemoryError()]

    def pool(*given, **settings):
        if failures:
            raise failures.pop()
        return TextPool(*given, **settings)

    monkeypatch.setattr("dropglm.labelling.pool.TextPool", pool)
    with LabellingSession(TEXTS, path, classes=["good", "bad"], seed=0) as session:
        assert session.wait(300)
        assert "(MemoryError)" in session.problem
        label_all(session, 1)
        assert session.wait(300)
        assert session.problem is None
        assert session.snapshot.version == session.version


def test_a_failure_that_stays_the_same_is_written_once(path, monkeypatch, capfd):
    def fit(*_):
        raise FloatingPointError("bad luck")

    monkeypatch.setattr(TextPool, "fit", fit)
    with LabellingSession(TEXTS, path, classes=["good", "bad"], seed=0) as session:
        for _ in range(3):
            label_all(session, 1)
            assert session.wait(300)
            assert "bad luck" in session.problem
    assert capfd.readouterr().err.count("bad luck") == 1


def test_answers_from_several_threads_are_all_stored(path):
    with LabellingSession(TEXTS, path, classes=["good", "bad"]) as session:
        workers = [
            threading.Thread(target=lambda k=k: [session.answer("good", n) for n in range(k, 120, 4)])
            for k in range(4)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(session.answers.labels()) == 120
        assert session.current is None
    with LabellingSession(TEXTS, path) as again:
        assert len(again.answers.labels()) == 120


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"random_share": 1.5}, "random_share"),
        ({"texts": []}, "no texts"),
        ({"classes": ["a\x00"]}, "name of a class"),
        ({"labels": {500: "a"}}, "no text 500"),
    ],
)
def test_bad_settings_are_refused_and_the_file_is_free_again(path, given, why):
    with pytest.raises(ValueError, match=why):
        LabellingSession(**{"texts": TEXTS, "path": path} | given)
    LabellingSession(TEXTS, path).close()


class Annotator(RuleBasedStateMachine):
    """Whatever an annotator does, a new session on the same file has the same state."""

    @initialize(folder=st.builds(lambda: None))
    def start(self, folder):
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.session = self.open()

    def open(self):
        return LabellingSession(TEXTS[:12], f"{self.folder.name}/a.jsonl", classes=["good", "bad"], seed=0)

    @precondition(lambda self: self.session.current is not None)
    @rule(label=st.integers(0, 1))
    def answer(self, label):
        self.session.answer(self.session.answers.classes[label])

    @precondition(lambda self: self.session.current is not None)
    @rule()
    def skip(self):
        self.session.skip()

    @rule(number=st.integers(0, 11), label=st.integers(0, 1))
    def correct(self, number, label):
        self.session.answer(self.session.answers.classes[label], number)

    @rule(labels=st.dictionaries(st.integers(0, 11), st.integers(0, 1), min_size=1, max_size=3))
    def bulk(self, labels):
        classes = self.session.answers.classes
        if any(map(self.session.is_free, labels)):
            self.session.answer_all({number: classes[label] for number, label in labels.items()})

    @rule(name=st.sampled_from(["u", "v"]))
    def add_or_remove(self, name):
        has = name in self.session.answers.classes
        (self.session.remove_class if has else self.session.add_class)(name)

    @precondition(lambda self: self.session.answers.last)
    @rule()
    def undo(self):
        self.session.undo()

    @rule(k=st.integers(0, 1), name=st.text("xyz", min_size=1, max_size=3))
    def rename(self, k, name):
        if name not in self.session.answers.classes:
            self.session.rename_class(self.session.answers.classes[k], name)

    @rule()
    def reopen(self):
        before = self.session.answers
        self.session.close()
        self.session = self.open()
        assert self.session.answers.by_text == before.by_text
        assert self.session.answers.classes == before.classes

    @invariant()
    def the_current_text_has_no_answer(self):
        if hasattr(self, "session") and self.session.current is not None:
            assert self.session.is_free(self.session.current.number)

    def teardown(self):
        if hasattr(self, "session"):
            self.reopen()
            self.session.close()
            self.folder.cleanup()


TestAnnotator = Annotator.TestCase
TestAnnotator.settings = settings(max_examples=8, stateful_step_count=15, deadline=None)
