"""The estimator: rules of noise and of unlabelled sentences, kinds of tokens, and clear errors."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from dropglm import SequenceTagger
from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.model_files import ModelFileError
from dropglm.core.chain import ChainObjective, Chains, Dropout
from dropglm.sequences import entities, entity_scores, word_features
from dropglm.sequences.model import FittedTagger
from dropglm.sequences.tagger import _with_copies

TAGS = ["B-LOC", "B-PER", "I-PER", "O"]
WORDS = {"B-LOC": ["Ulm", "Bonn", "Kiel"], "B-PER": ["Anna", "Emmy"], "I-PER": ["Noether", "Curie"]}
OTHERS = ["is", "in", "and", "lives", "from", "near"]


def sentences_of(n, seed=0):
    """Return sentences of words, and their tags."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        tags = []
        while len(tags) < rng.integers(2, 9):
            kind = rng.integers(4)
            tags += [["O"], ["B-LOC"], ["B-PER"], ["B-PER", "I-PER"]][kind]
        found.append(([str(rng.choice(WORDS.get(tag, OTHERS))) for tag in tags], tags))
    return [words for words, _ in found], [tags for _, tags in found]


X, Y = sentences_of(30)
NEW, NEW_TAGS = sentences_of(10, seed=1)
TIGHT = {"tol": 1e-6}


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger().fit(X, Y, X_unlabeled=NEW)


def test_tags_of_new_sentences_are_found(tagger):
    assert tagger.score(NEW, NEW_TAGS) > 0.9
    assert tagger.entity_scores(NEW, NEW_TAGS).f1 > 0.9
    assert tagger.tags_ == TAGS


def test_marginals_are_probabilities(tagger):
    for words, p in zip(NEW, tagger.predict_marginals(NEW), strict=True):
        assert p.shape == (len(words), len(TAGS))
        assert_allclose(p.sum(axis=1), 1.0)


def names_of(x):
    return [word_features(words) for words in x]


def dictionaries_of(x):
    return [[dict.fromkeys(names, 1.0) for names in sentence] for sentence in names_of(x)]


def matrices_of(x, kind):
    """Return a matrix per sentence, with the columns of the features of X."""
    names = list(dict.fromkeys(name for sentence in names_of(X) for token in sentence for name in token))
    numbers = {name: j for j, name in enumerate(names)}
    found = []
    for sentence in names_of(x):
        matrix = np.zeros((len(sentence), len(names)))
        for t, token in enumerate(sentence):
            matrix[t, [numbers[name] for name in token if name in numbers]] = 1.0
        found.append(kind(matrix))
    return found


@pytest.mark.parametrize(
    "form",
    [
        names_of,
        dictionaries_of,
        lambda x: [[set(token) for token in sentence] for sentence in names_of(x)],
        lambda x: matrices_of(x, np.asarray),
        lambda x: matrices_of(x, sparse.csr_array),
    ],
    ids=["names", "dictionaries", "sets", "dense", "sparse"],
)
def test_all_forms_of_features_give_the_same_model(form):
    words = SequenceTagger(**TIGHT).fit(X, Y)
    other = SequenceTagger(**TIGHT).fit(form(X), Y)
    for p, q in zip(words.predict_marginals(NEW), other.predict_marginals(form(NEW)), strict=True):
        assert_allclose(p, q, atol=1e-6)


def test_numbers_of_dictionaries_are_values_and_strings_part_of_the_name():
    model = SequenceTagger().fit([[{"size": 2.0, "kind": "a", "flag": True, "no": False}] * 2], [["x", "y"]])
    assert list(model._fitted.vocabulary) == ["size", "kind=a", "flag"]


def test_columns_of_tokens_become_features():
    with_columns = [[(word, tag) for word, tag in zip(*pair, strict=True)] for pair in zip(X, Y, strict=True)]
    model = SequenceTagger().fit(with_columns, Y)
    assert model.score(with_columns, Y) == 1.0
    with pytest.raises(InputError, match="same number of columns"):
        model.predict([[("Ulm", "LOC"), ("is",)]])


def same(first, second):
    assert_array_equal(first._fitted.theta, second._fitted.theta)


def test_the_model_does_not_depend_on_the_number_of_threads():
    x, y = sentences_of(200, seed=3)
    same(*(SequenceTagger(n_jobs=threads).fit(x, y, X_unlabeled=NEW) for threads in (1, 3)))


@pytest.mark.parametrize(
    "change",
    [{"discount": 0.0}, {"dropout": 0.0}],
    ids=repr,
)
def test_unlabelled_sentences_have_no_effect_without_their_penalty(change):
    same(SequenceTagger(**change).fit(X, Y), SequenceTagger(**change).fit(X, Y, X_unlabeled=NEW))


def test_unlabelled_sentences_have_an_effect():
    plain, more = (
        SequenceTagger(**TIGHT).fit(X, Y),
        SequenceTagger(discount=1.0, **TIGHT).fit(X, Y, X_unlabeled=NEW),
    )
    assert np.abs(plain._fitted.theta - more._fitted.theta).max() > 1e-3


def test_a_sentence_without_known_tags_is_unlabelled():
    unknown = [[None] * len(words) for words in NEW]
    same(SequenceTagger().fit(X, Y, X_unlabeled=NEW), SequenceTagger().fit(X + NEW, Y + unknown))


def test_a_weight_of_two_is_the_sentence_twice():
    weights = np.where(np.arange(len(X)) % 2, 1.0, 2.0)
    weighted = SequenceTagger(**TIGHT).fit(X, Y, sample_weight=weights)
    twice = SequenceTagger(**TIGHT).fit(X + X[::2], Y + Y[::2])
    assert_allclose(weighted._fitted.theta, twice._fitted.theta, atol=1e-5)


def test_partly_known_tags_are_learnt_from():
    rng = np.random.default_rng(0)
    partly = [[tag if rng.random() < 0.6 else None for tag in tags] for tags in Y]
    model = SequenceTagger().fit(X, partly)
    assert model.score(NEW, NEW_TAGS) > 0.85
    assert SequenceTagger().fit(X, partly).score(X, partly) > 0.9


def test_the_mean_over_copies_is_close_to_the_quadratic_penalty():
    """For weak noise, both approximate the expectation, and the loss is the same."""
    model = SequenceTagger(0.05, 2.0).fit(X, Y)._model()
    found, ones = model.rows(X), np.ones(len(X))
    tags = np.array([TAGS.index(tag) for own in Y for tag in own], np.int32)
    chains = Chains(found.rows, found.starts, tags, ones, ones, ones)
    values = [
        ChainObjective(own, model.scores, noise).at(model.theta).value
        for own, noise in (
            (chains, Dropout()),
            (chains, Dropout(0.05 / 0.95)),
            (_with_copies(chains, 0.05, 400, seed=0), Dropout()),
        )
    ]
    plain, quadratic, copies = values
    assert_allclose(copies - plain, quadratic - plain, rtol=0.2)
    assert SequenceTagger(expectation="monte_carlo", random_state=0).fit(X, Y).score(NEW, NEW_TAGS) > 0.9


def test_rounds_with_fixed_marginals_end_where_these_do_not_change():
    settings = {"expectation": "fixed_marginals", "l2": 1.0}
    model = SequenceTagger(**settings, **TIGHT).fit(X, Y)
    exact = SequenceTagger(l2=1.0, **TIGHT).fit(X, Y)
    assert model.score(NEW, NEW_TAGS) > 0.9
    assert np.abs(model._fitted.theta - exact._fitted.theta).max() > 1e-3


@pytest.mark.parametrize("tokens", ["words", "names", "matrix"])
def test_a_model_file_predicts_and_is_fitted_the_same(tmp_path, tokens):
    form = {"words": list, "names": names_of, "matrix": lambda x: matrices_of(x, sparse.csr_array)}[tokens]
    model = SequenceTagger(0.3, 0.7, transition_dropout=0.1).fit(form(X), Y)
    model.save(tmp_path / "model.skops")
    loaded = SequenceTagger.load(tmp_path / "model.skops")
    for p, q in zip(model.predict_marginals(form(NEW)), loaded.predict_marginals(form(NEW)), strict=True):
        assert_array_equal(p, q)
    same(model, loaded.fit(form(X), Y))


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("width", 3),
        ("tags", ["a", "a"]),
        ("coefficients", np.zeros(3)),
        ("coefficients", np.array(["a"])),
        ("pair_tags", np.full(10, 99)),
        ("names", np.zeros(5, np.uint8)),
        ("name_lengths", np.zeros(5, np.int64)),
        ("allowed", np.zeros((2, 2))),
        ("tokens", "code"),
        ("more", 1),
    ],
)
def test_a_changed_file_is_refused(tmp_path, tagger, monkeypatch, part, value):
    state = tagger._model().to_state() | {part: value}
    monkeypatch.setattr("dropglm.base.model_files.Record.check", lambda *_, **__: None)
    monkeypatch.setattr(FittedTagger, "to_state", lambda _: state)
    tagger.save(tmp_path / "model.skops")
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        SequenceTagger.load(tmp_path / "model.skops")


def path_score(model, words, tags):
    """Return s(y), by the definition."""
    fitted = model._model()
    T, start, end = fitted.transitions()
    numbers = [fitted.tags.index(tag) for tag in tags]
    rows = fitted.rows([words]).rows
    total = start[numbers[0]] + end[numbers[-1]] + sum(T[a, b] for a, b in pairwise(numbers))
    for t, k in enumerate(numbers):
        for j in rows.indices[rows.indptr[t] : rows.indptr[t + 1]]:
            total += fitted._coefficients_of(int(j))[k]
    return total


def test_explanations_add_up_to_the_difference_of_scores(tagger):
    words = NEW[0]
    tags = tagger.predict([words])[0]
    for one in tagger.explain(words, most=1000):
        assert one.tag == tags[one.token]
        other = [*tags[: one.token], one.instead, *tags[one.token + 1 :]]
        gap = path_score(tagger, words, tags) - path_score(tagger, words, other)
        assert_allclose(sum(weight for _, weight in one.contributions), gap, atol=1e-9)
    assert len(tagger.explain(words, most=2)[0].contributions) == 2


def test_it_is_an_estimator_of_scikit_learn():
    model = SequenceTagger(0.2, l2=2.0, expectation="fixed_marginals")
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(SequenceTagger(), X, Y, cv=3).mean() > 0.9
    search = GridSearchCV(SequenceTagger(), {"l2": [0.1, 10.0]}, cv=2).fit(X, Y, X_unlabeled=NEW)
    assert search.best_params_ == {"l2": 0.1}


def test_tags_may_be_numbers():
    numbers = [[TAGS.index(tag) for tag in tags] for tags in Y]
    assert SequenceTagger().fit(X, numbers).predict(NEW) == [
        [TAGS.index(tag) for tag in tags] for tags in SequenceTagger().fit(X, Y).predict(NEW)
    ]


def test_a_sentence_without_tokens_has_no_tags(tagger):
    assert tagger.predict([[], ["Ulm"], []]) == [[], ["B-LOC"], []]
    assert tagger.predict([]) == []
    same(SequenceTagger().fit([*X, []], [*Y, []]), SequenceTagger().fit(X, Y))


ONE = [["Ulm", "is"]], [["B-LOC", "O"]]


@pytest.mark.parametrize(
    ("change", "sentences", "tags", "message"),
    [
        ({"dropout": 1.0}, *ONE, r"dropout must be in \[0, 1\), got 1.0"),
        ({"l2": -1.0}, *ONE, "l2 must be finite and not negative"),
        ({"max_iter": 0}, *ONE, "max_iter must be at least 1"),
        ({"expectation": "exact"}, *ONE, "expectation"),
        ({"expectation": "monte_carlo", "transition_dropout": 0.1}, *ONE, "transition_dropout needs"),
        ({}, "Ulm is", ONE[1], "sequences must be a list of sentences, got str"),
        ({}, ["Ulm is"], ONE[1], "Sentence 0 of sequences must be a list of tokens"),
        ({}, [[1, 2]], ONE[1], "A token of sequences must be a word"),
        ({}, [["Ulm", ["is"]]], ONE[1], "Sentence 0 of sequences cannot be used: a token is of type list"),
        ({}, [[["a", 1], ["b"]]], ONE[1], "must be strings"),
        ({}, [[{"a": "x"}, {"a": np.inf}]], ONE[1], "the value of 'a' is not finite"),
        ({}, [[{"a": "x"}, {"a": [1]}]], ONE[1], "the value of 'a' is of type list"),
        ({}, [[("Ulm", "NNP"), ("is",)]], ONE[1], "tokens have different numbers of columns"),
        ({}, [np.array([[np.nan], [1.0]])], ONE[1], "NaN"),
        ({}, [np.ones((2, 1)), np.ones((2, 2))], ONE[1] * 2, "has 2 columns, but others have 1"),
        ({}, [], [], "sequences has no token|tags must have at least 2"),
        ({}, ONE[0], [["O"]], "Sentence 0 has 2 tokens, but 1 tags"),
        ({}, ONE[0], [], "tags has 0 sentences, but sequences has 1"),
        ({}, ONE[0], ["OO"], "The tags of sentence 0 must be a list, got str"),
        ({}, ONE[0], None, "tags must be a list with a list of tags"),
        ({}, ONE[0], [["O", 1]], "tags must be strings, integers or None, got int and str"),
        ({}, ONE[0], [["O", "O"]], "at least 2 different tags"),
        ({}, ONE[0], [["O", None]], "at least 2 different tags"),
    ],
)
def test_bad_input_gets_one_clear_sentence(change, sentences, tags, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        SequenceTagger(**change).fit(sentences, tags)


def test_a_fit_that_does_not_converge_warns_with_numbers():
    with pytest.warns(Warning, match="did not converge.*n_iter = 1"):
        SequenceTagger(max_iter=1).fit(X, Y)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), max_size=8))
def test_entities_cover_exactly_the_tokens_that_are_not_o(tags):
    covered = [t for entity in entities(tags) for t in range(entity.start, entity.stop)]
    assert covered == [t for t, tag in enumerate(tags) if tag != "O"]
    scores = entity_scores([tags], [tags])
    assert scores.f1 == (1.0 if covered else 0.0)
    assert scores.true == sum(one.true for one in scores.by_type.values())


def test_entities_agree_with_conlleval():
    """As conlleval marks them; its script starts an entity at an I after O or after another type."""
    assert [
        tuple(one) for one in entities(["I-A", "I-B", "B-B", "I-B", "O", "S-A", "B-A", "E-A", "I-A"])
    ] == [*[("A", 0, 1), ("B", 1, 2), ("B", 2, 4), ("A", 5, 6), ("A", 6, 8), ("A", 8, 9)]]
    with pytest.raises(InputError, match="Tags of entities are O"):
        entities(["NOUN"])


def test_the_l2_model_is_that_of_crfsuite(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    names, l2 = names_of(X), 0.8
    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence, tags in zip(names, Y, strict=True):
        ends = [[] for _ in sentence]
        ends[0], ends[-1] = [*ends[0], "__BOS__"], [*ends[-1], "__EOS__"]
        trainer.append([[*a, *b] for a, b in zip(sentence, ends, strict=True)], tags)
    trainer.set_params({"c2": l2 / 2, "epsilon": 1e-12, "delta": 1e-14, "max_iterations": 2000})
    with warnings.catch_warnings():
        trainer.train(str(tmp_path / "model.crfsuite"))
    model = SequenceTagger(0.0, l2, tol=1e-6, max_iter=2000).fit(names, Y)
    assert_allclose(model.result_.objective, trainer.logparser.last_iteration["loss"], rtol=1e-6)
