import numpy as np
import pytest

from dropglm.datasets import DATASETS, Dataset, fetch, load_dataset, where


@pytest.mark.parametrize("function", [load_dataset, where, fetch])
def test_an_unknown_name_gets_a_suggestion(function):
    with pytest.raises(ValueError, match="data set 'imbd' is unknown; did you mean 'imdb'"):
        function("imbd")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("rt", {"random_state": 0}, "'random_state' is not an option of the data set 'rt'; it has none."),
        ("simulation", {"rows": 3}, "it has 'n_rows', 'random_state'."),
        ("simulation", {"n_rows": 2.5}, "n_rows must be an integer, got 2.5."),
        ("docstrings", {"n_test": "many"}, "n_test must be an integer, got 'many'."),
    ],
)
def test_unknown_and_invalid_options_are_errors(name, options, message):
    with pytest.raises(TypeError) as error:
        load_dataset(name, **options)
    assert str(error.value).endswith(message)


@pytest.mark.parametrize(("name", "option"), [("simulation", "n_rows"), ("docstrings", "n_labeled")])
def test_zero_rows_are_an_error(name, option):
    with pytest.raises(ValueError, match=f"{option} must be at least 1, got 0"):
        load_dataset(name, **{option: 0})


def test_the_simulation_is_the_same_for_the_same_seed():
    data, again = (load_dataset("simulation", n_rows=100, random_state=1) for _ in range(2))
    assert data.X.shape == (100, 1050)
    assert np.array_equal(data.X, again.X)
    assert np.array_equal(data.y, again.y)
    assert np.array_equal(data.groups, np.arange(100) % 25)
    assert not np.array_equal(data.X, load_dataset("simulation", n_rows=100, random_state=2).X)


@pytest.mark.parametrize("name", ["docstrings", "simulation"])
def test_generated_data_sets_have_no_file(name):
    assert where(name) is None
    with pytest.raises(ValueError, match="needs no file"):
        fetch(name)


def test_a_data_set_describes_itself():
    data = load_dataset("simulation")
    assert data.description.startswith("The paper's simulation")
    assert data.citation
    assert data.terms
    assert "1050" not in repr(data)
    with pytest.raises(AttributeError):
        data.y = None
    many = Dataset("many", np.zeros(3), tuple("abcdef"), unlabeled=np.zeros(2), y_test=np.zeros(1))
    assert repr(many) == "Dataset('many', 3 rows, 2 unlabelled, 1 test, 6 classes)"


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_has_what_the_list_shows(name):
    entry = DATASETS[name]
    assert entry.summary
    assert len(entry.summary) < 80
    assert "\n" not in entry.summary
    assert all((entry.terms, entry.citation, entry.note, entry.classes))
