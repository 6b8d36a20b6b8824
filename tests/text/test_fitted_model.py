"""Fitted text models from files predict and explain as the estimators do, without scikit-learn."""

import subprocess
import sys

import numpy as np
import pytest

from dropglm import OnlineTextClassifier, TextClassifier, load_model
from dropglm.base import model_files
from dropglm.base.model_files import ModelFileError
from dropglm.text.fitted_model import load_fitted_model
from dropglm.text.online_text_model import OnlineTextModel

TEXTS = ["a lovely film", "great fun, a great cast", "a dull film", "long and dull", "so odd", "odd music"]
CLASSES = ["good", "good", "bad", "bad", "odd", "odd"]
NEW = ["a lovely story", "dull, dull music", "nothing known", ""]


def embedder(texts):
    return [[len(text), text.count("d"), text.count("o")] for text in texts]


def tuned():
    return TextClassifier(cv=2).fit(TEXTS[:4] * 3, CLASSES[:4] * 3, X_unlabeled=NEW)


MODELS = {
    "two classes": lambda: TextClassifier(tune=False).fit(TEXTS[:4], CLASSES[:4]),
    "three classes": lambda: TextClassifier(tune=False, stop_words="english").fit(TEXTS, CLASSES),
    "characters": lambda: TextClassifier((2, 3), analyzer="char", strip_accents="ascii", tune=False).fit(
        TEXTS, CLASSES
    ),
    "within words": lambda: TextClassifier((3, 4), analyzer="char_wb", tune=False).fit(TEXTS, CLASSES),
    "tuned": tuned,
    "embeddings": lambda: TextClassifier(tune=False, embedder=embedder).fit(TEXTS, CLASSES),
    "hashed": lambda: OnlineTextClassifier(bits=8).fit(TEXTS, CLASSES),
    "shrunk": lambda: OnlineTextClassifier(bits=8, l2=1e-3, rule="dropout").fit(TEXTS, CLASSES),
    "averaged": lambda: OnlineTextClassifier(bits=8, average=True, rule="sgd").fit(TEXTS[:4], CLASSES[:4]),
    "continued": lambda: (
        OnlineTextClassifier()
        .start_from(TextClassifier(tune=False).fit(TEXTS, CLASSES))
        .partial_fit(TEXTS, CLASSES)
    ),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.filterwarnings("ignore:The 4 texts without labels did not improve")
def test_predictions_and_explanations_equal_those_of_the_estimator(make, tmp_path):
    model = make()
    model.text_column_, model.label_column_ = "review", "stars"
    model.save(tmp_path / "model.skops")
    found = load_fitted_model(tmp_path / "model.skops", getattr(model, "embedder", None))
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(found, method)(NEW), getattr(model, method)(NEW))
    for text in NEW:
        assert found.explain(text) == model.explain(text)
    assert found.top_features(5) == model.top_features(5)
    assert found.summary_ == model.summary_
    assert (found.text_column_, found.label_column_) == ("review", "stars")
    np.testing.assert_array_equal(found.classes_, model.classes_)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.filterwarnings("ignore:The 4 texts without labels did not improve")
def test_a_model_that_is_read_and_written_again_is_the_same_file(make, tmp_path):
    model = make()
    model.text_column_ = "review"
    model.save(tmp_path / "first")
    load_fitted_model(tmp_path / "first").save(tmp_path / "second")
    load_model(tmp_path / "first").save(tmp_path / "third")
    first, second, third = (
        model_files.from_archive((tmp_path / name).read_bytes()) for name in ("first", "second", "third")
    )
    np.testing.assert_equal(second, first)
    np.testing.assert_equal(third, first)


def test_the_defaults_of_a_new_online_model_are_those_of_the_estimator():
    defaults = OnlineTextClassifier().get_params()
    assert OnlineTextModel.new({}).current_settings | {"n_jobs": None, "verbose": 0} == defaults


def test_embeddings_are_refused_and_required_as_by_the_estimator(tmp_path):
    path = tmp_path / "model.skops"
    MODELS["two classes"]().save(path)
    with pytest.raises(ValueError, match="trained without embeddings"):
        load_fitted_model(path, embedder)
    MODELS["embeddings"]().save(path)
    with pytest.raises(ValueError, match="needs its embedder embedder"):
        load_fitted_model(path).predict(NEW)
    with pytest.raises(ValueError, match="is not the one of the model"):
        load_fitted_model(path, lambda texts: np.ones((len(texts), 3)))


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(b"PK")
    with pytest.raises(ModelFileError, match="not a dropglm model file, or it is truncated"):
        load_fitted_model(path)


COMMAND = """
import sys
sys.argv = ["dropglm", *sys.argv[1:]]
from dropglm.cli import main
try:
    main()
except SystemExit as stopped:
    assert not stopped.code
heavy = "sklearn", "pandas", "skops", "joblib", "scipy.optimize", "scipy.special", "scipy.stats", "matplotlib"
heavy += ("polars", "rich.console") if "predict" in sys.argv else ("polars",)
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [["predict"], ["explain", "a lovely film"]], ids=lambda a: a[0])
@pytest.mark.parametrize("model", ["two classes", "hashed"])
def test_commands_do_not_import_scikit_learn(arguments, model, tmp_path):
    path = tmp_path / "model.skops"
    MODELS[model]().save(path)
    name, *rest = arguments
    command = [sys.executable, "-c", COMMAND, name, str(path), *rest]
    done = subprocess.run(command, input="a lovely film\n", capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert "good" in done.stdout
