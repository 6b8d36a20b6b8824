"""Every display follows scikit-learn's convention: it draws on the given axes, in the given style."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

import dropglm.plots
from dropglm import (
    LogisticRegression,
    LogisticRegressionCV,
    OnlineLogisticRegression,
    OnlineTextClassifier,
    TextClassifier,
)
from dropglm.plots import (
    ConvergenceDisplay,
    CVSurfaceDisplay,
    FisherDisplay,
    LossExpansionDisplay,
    NgramWeightsDisplay,
    PenaltyCurvesDisplay,
    PenaltyPathDisplay,
    ProgressiveCurvesDisplay,
    RidgeContoursDisplay,
    SelectiveDisplay,
)
from tests.text.synthetic import texts_with_labels

TEXTS = ["a fine film", "a bad film", "fine", "bad"]


def convergence(**settings):
    model = LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    return ConvergenceDisplay.from_estimator(model, **settings)


def cv_surface(**settings):
    X, y = [[0.0], [1.0], [2.0], [0.5]] * 5, [0, 1, 1, 0] * 5
    model = LogisticRegressionCV(dropout=(0.2, 0.5), l2=(0.1, 1.0), cv=2).fit(X, y)
    return CVSurfaceDisplay.from_estimator(model, **settings)


def top_ngrams(**settings):
    model = TextClassifier((1, 1), tune=False).fit(TEXTS, [1, 0, 1, 0])
    return NgramWeightsDisplay.from_estimator(model, 1, **settings)


def explanation(**settings):
    model = TextClassifier((1, 1), tune=False).fit(TEXTS, [1, 0, 1, 0])
    return NgramWeightsDisplay.from_explanation(model.explain("a bad fine film"), **settings)


def path(**settings):
    steps = [([0.1, -0.2], 0.0), ([0.5, -1.0], 0.1)]
    return PenaltyPathDisplay.from_path(steps, [[1.0, 0.0], [1.0, 1.0]], dropout=0.5, **settings)


def contours(**settings):
    X = np.random.default_rng(0).normal(size=(20, 2))
    return RidgeContoursDisplay.from_predictions(X, np.full(20, 0.4), [1.0, -0.5], **settings)


def curves(ax=None, **settings):
    return ProgressiveCurvesDisplay([10, 20], {"sgd": [[0.5, 0.6], [0.5, 0.7]]}, best=0.9).plot(
        ax, **settings
    )


def fisher(ax=None, **settings):
    return FisherDisplay([10, 20], [0.2, 0.1], {"adagrad": [[[0.3, 0.1], [0.2, 0.11]]]}).plot(ax, **settings)


def selective(**settings):
    p = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]
    return SelectiveDisplay.from_predictions([0, 1, 1], p, [0, 1], **settings)


LINE = {"linewidth": 3.5, "alpha": 0.5}
# Each constructor, the number of its panels, a style, and the artists of which that style must be true.
DISPLAYS = {
    "convergence": (convergence, 2, LINE, "lines_"),
    "cv_surface": (cv_surface, 1, {"alpha": 0.5}, "surface_"),
    "top_ngrams": (top_ngrams, 1, LINE, "bars_"),
    "explanation": (explanation, 1, LINE, "bars_"),
    "penalty_curves": (PenaltyCurvesDisplay.from_probabilities, 1, LINE, "lines_"),
    "loss_expansion": (LossExpansionDisplay.from_probabilities, 1, LINE, "lines_"),
    "path": (path, 2, LINE, "lines_"),
    "contours": (contours, 2, {"alpha": 0.5}, "contours_"),
    "curves": (curves, 1, LINE, "lines_"),
    "selective": (selective, 1, LINE, "lines_"),
    "fisher": (fisher, 2, LINE, "lines_ points_"),
}
every_display = pytest.mark.parametrize("name", DISPLAYS)


def new_axes(panels):
    axes = plt.subplots(1, panels, layout="constrained")[1]
    return axes, np.atleast_1d(axes)


def n_artists(axes):
    return sum(len(ax.lines) + len(ax.collections) + len(ax.patches) for ax in np.atleast_1d(axes))


def test_every_display_is_tested():
    tested = {type(make()).__name__ for make, *_ in DISPLAYS.values()}
    assert tested == set(dropglm.plots.__all__)


@every_display
def test_constructor_draws_on_new_axes(name):
    make, panels, _, _ = DISPLAYS[name]
    display = make()
    assert np.shape(display.ax_) == (() if panels == 1 else (panels,))
    assert n_artists(display.ax_) > 0
    for ax in np.atleast_1d(display.ax_):
        assert ax.figure is display.figure_
        assert ax.get_xlabel()
    assert plt.get_fignums() == [display.figure_.number]


@every_display
def test_constructor_draws_on_given_axes(name):
    make, panels, _, _ = DISPLAYS[name]
    given, axes = new_axes(panels)
    display = make(ax=given)
    assert_array_equal(np.atleast_1d(display.ax_), axes)
    assert display.figure_ is axes[0].figure
    assert n_artists(given) > 0
    assert len(plt.get_fignums()) == 1
    display.figure_.canvas.draw()


@every_display
def test_plot_draws_again_on_given_axes_and_returns_the_display(name):
    make, panels, _, _ = DISPLAYS[name]
    display = make()
    expected = n_artists(display.ax_)
    given, axes = new_axes(panels)
    assert display.plot(ax=given) is display
    assert_array_equal(np.atleast_1d(display.ax_), axes)
    assert n_artists(given) == expected


@every_display
def test_keyword_arguments_reach_matplotlib(name):
    make, _, style, attributes = DISPLAYS[name]
    for display in (make(**style), make().plot(**style)):
        artists = [artist for each in attributes.split() for artist in np.ravel(getattr(display, each))]
        assert artists
        for artist in artists:
            assert {key: getattr(artist, f"get_{key}")() for key in style} == style


@every_display
def test_unknown_keyword_arguments_are_refused(name):
    # Matplotlib before 3.11 only warns about unknown arguments of contour.
    with pytest.raises((AttributeError, TypeError, UserWarning), match="no_such_style"):
        DISPLAYS[name][0](no_such_style=1)


def test_abbreviated_line_styles_replace_the_defaults():
    display = LossExpansionDisplay.from_probabilities(ls=":", lw=4, c="green")
    for line in display.lines_:
        assert (line.get_linestyle(), line.get_linewidth(), line.get_color()) == (":", 4, "green")


@pytest.mark.parametrize("name", [name for name, (_, panels, *_) in DISPLAYS.items() if panels == 2])
def test_two_panels_need_two_axes(name):
    for given, number in ((new_axes(1)[0], 1), (new_axes(3)[0], 3)):
        with pytest.raises(ValueError, match=f"ax must be an array of 2 axes.* got {number} axes"):
            DISPLAYS[name][0](ax=given)


@pytest.mark.parametrize("name", [name for name, (_, panels, *_) in DISPLAYS.items() if panels == 1])
def test_one_panel_needs_a_single_axes(name):
    given = new_axes(2)[0]
    with pytest.raises(ValueError, match="ax must be a single Axes or None; got 2 axes"):
        DISPLAYS[name][0](ax=given)
    assert n_artists(given) == 0


def test_legend_shows_only_the_entries_of_its_own_axes():
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    left.plot([1, 2], [1, 2], label="other")
    curves(ax=right)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["sgd", "true model"]


@pytest.mark.parametrize(
    ("display", "model"),
    [
        (ConvergenceDisplay, LogisticRegression()),
        (ConvergenceDisplay, TextClassifier()),
        (CVSurfaceDisplay, LogisticRegressionCV()),
        (CVSurfaceDisplay, TextClassifier()),
    ],
)
def test_estimators_must_be_fitted(display, model):
    with pytest.raises(NotFittedError):
        display.from_estimator(model)
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("display", "model", "supported"),
    [
        (
            ConvergenceDisplay,
            OnlineLogisticRegression(),
            "TextClassifier and estimators with .* result_, such",
        ),
        (CVSurfaceDisplay, LogisticRegression(), "LogisticRegressionCV and TextClassifier"),
        (NgramWeightsDisplay, LogisticRegression(), "TextClassifier and OnlineTextClassifier"),
    ],
)
def test_other_estimators_are_refused_by_name(display, model, supported):
    model.fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    name = type(model).__name__
    arguments = [1] if display is NgramWeightsDisplay else []
    with pytest.raises(TypeError, match=f"{display.__name__} supports {supported}.*, got {name}"):
        display.from_estimator(model, *arguments)
    assert plt.get_fignums() == []


def test_displays_of_a_text_classifier_show_its_model_and_its_search(tmp_path):
    model = TextClassifier((1, 1), l2=(1.0, 0.1), cv=2).fit(TEXTS * 2, [1, 0, 1, 0] * 2)
    convergence = ConvergenceDisplay.from_estimator(model)
    assert (convergence.results, convergence.labels) == ((model.model_.result_,), ("TextClassifier",))
    own, of_search = map(CVSurfaceDisplay.from_estimator, (model, model.search_))
    assert_array_equal(own.scores, of_search.scores)
    assert own.chosen == (model.search_.dropout_, model.search_.l2_)
    model.save(tmp_path / "model.skops")
    loaded = TextClassifier.load(tmp_path / "model.skops")
    with pytest.raises(ValueError, match="loaded from a file, which does not hold the iterations"):
        ConvergenceDisplay.from_estimator(loaded)
    with pytest.raises(ValueError, match="no cross-validation scores, since it was fitted without tuning or"):
        CVSurfaceDisplay.from_estimator(loaded)


def test_ngram_weights_of_an_online_text_classifier():
    model = OnlineTextClassifier(ngram_range=(1, 1), bits=8).fit(TEXTS * 5, [1, 0, 1, 0] * 5)
    display = NgramWeightsDisplay.from_estimator(model, 1, 2)
    assert set(display.ngrams) == {entry.ngram for entry in model.top_features(2)[1]}


def test_models_of_several_labels_have_the_same_displays():
    texts, lists = texts_with_labels(60)
    X = np.array([[text.count(letter) for letter in "abcdefgh"] for text in texts], float)
    model = LogisticRegression().fit(X, lists)
    drawn = ConvergenceDisplay.from_estimator(model)
    assert [line.get_label() for line in drawn.lines_[0]] == model.classes_.tolist()
    search = LogisticRegressionCV(dropout=(0.2, 0.5), l2=(0.1, 1.0), cv=2).fit(X, lists)
    assert CVSurfaceDisplay.from_estimator(search).ax_ is not None
    classifier = TextClassifier((1, 1), tune=False).fit(texts, lists)
    shown = NgramWeightsDisplay.from_estimator(classifier, "good", 2)
    assert sorted(shown.ngrams) == sorted(entry.ngram for entry in classifier.top_features(2)["good"])
