import numpy as np
import pytest

from dropglm.datasets import docstrings, load_dataset

LONG = "This sentence is long enough to be kept because it has more than eighty characters, and number"
CLASS = f'class A:\n    """{LONG} 6."""\n'


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Replace the installed packages by small ones."""
    written = {
        "numpy": {
            "__init__.py": f'"""{LONG} 1 of NumPy."""\n',
            "tests/test_a.py": f'"""{LONG} 2, which is a test."""\n',
            "_core.py": f'def public():\n    """{LONG} 3."""\n\ndef _private():\n    """{LONG} 4."""\n',
            "broken.py": "def (",
        },
        "scipy": {
            "a.py": f'"""{LONG} 5 of scipy."""\n{CLASS}    async def f(self):\n        """{LONG} 7."""\n',
            "b.py": f'"""{LONG} 3."""\n{CLASS}    def g(self):\n        """Short."""\n',
        },
        "python": {"this.py": f'"""{LONG} 8."""\n', "io.py": f'"""{LONG} 9."""\nraise SystemExit\n'},
    }
    for package, files in written.items():
        for name, source in files.items():
            path = tmp_path / package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source)
    places = {package: tmp_path / package for package in written}
    monkeypatch.setattr(docstrings, "package_folder", places.get)
    docstrings.collect_docstrings.cache_clear()
    yield
    docstrings.collect_docstrings.cache_clear()


def test_public_docstrings_are_collected_without_duplicates_and_shared_ones(packages):
    numbers = {
        package: sorted(int(text.removeprefix(f"{LONG} ")[0]) for text in texts)
        for package, texts in docstrings.collect_docstrings().items()
    }
    assert numbers == {"numpy": [1], "python": [9], "scipy": [5, 6, 7]}


def test_more_docstrings_than_available_are_an_error(packages):
    with pytest.raises(ValueError, match=r"n_labeled \+ n_test is 6, but there are only 5 docstrings"):
        load_dataset("docstrings", n_labeled=3, n_test=3)
    assert len(load_dataset("docstrings", n_labeled=1, n_test=1, n_per_class=1).unlabeled) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Like np.sum, but sp.linalg and pl.col are inputs.",
            "Like _.sum, but _.linalg and _.col are inputs.",
        ),
        ("scikit-learn, scikit_learn and SKLEARN", "_, _ and _"),
        ("A PolarsError in CPython's numpy_array", "A _Error in _'s __array"),
        (".. versionchanged:: 0.24\n   Faster.", ".. versionchanged::\n   Faster."),
        ("x\n>>> from scipy import stats\n>>> from sklearn.svm import SVC\n>>> 1\n1", "x\n>>> 1\n1"),
        ("Values\nfrom the left\nimport them here", "Values\nfrom the left\nimport them here"),
        ("A Series or a DataFrame.", "A Series or a DataFrame."),
    ],
)
def test_words_that_reveal_the_package_are_masked(text, expected):
    assert docstrings.mask(text) == expected


def test_docstrings_of_the_installed_packages():
    data = load_dataset("docstrings", n_labeled=300, n_test=500, random_state=3)
    assert (len(data.texts), len(data.y), len(data.texts_test), len(data.y_test)) == (300, 300, 500, 500)
    assert {"numpy", "python", "scipy", "sklearn"} <= set(data.y) <= set(data.class_names)
    everything = np.concatenate([data.texts, data.unlabeled, data.texts_test])
    assert len(set(everything)) == len(everything) > 3000
    assert all(len(text) >= docstrings.MIN_LENGTH for text in everything)
    for name in ("numpy", "scipy", "sklearn", "scikit-learn", "polars", "python"):
        assert not any(name in text.lower() for text in everything)
    again = load_dataset("docstrings", n_labeled=300, n_test=500, random_state=3)
    assert np.array_equal(data.texts, again.texts)
    assert not np.array_equal(data.texts, load_dataset("docstrings", random_state=4).texts)
