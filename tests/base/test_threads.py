"""Work on threads: results arrive in the order of the items, and the number of cores is joblib's."""

import threading
import time

import joblib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm.base import threads
from dropglm.base.threads import ahead


def same(item):
    return item


@given(items=st.lists(st.integers()), workers=st.integers(1, 4), depth=st.integers(1, 3))
def test_results_are_those_of_a_loop(items, workers, depth):
    assert list(ahead(items, [lambda item: 2 * item] * workers, depth)) == [2 * item for item in items]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_slow_items_do_not_change_the_order(workers):
    def slow_if_even(item):
        time.sleep(0.002 * (item % 2 == 0))
        return item

    assert list(ahead(range(20), [slow_if_even] * workers)) == list(range(20))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_an_error_is_raised_after_the_items_before_it(workers):
    def items():
        yield 1
        yield 2
        raise KeyError("three")

    found = []
    with pytest.raises(KeyError, match="three"):
        found.extend(ahead(items(), [same] * workers))
    assert found == [1, 2]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_an_error_of_a_worker_is_raised_in_place_of_the_result(workers):
    found = []
    with pytest.raises(ZeroDivisionError):
        found.extend(ahead([4, 2, 0, 1], [lambda item: 4 // item] * workers))
    assert found == [1, 2]


def test_items_are_made_ahead_but_not_without_end():
    made = []
    items = ahead((made.append(k) or k for k in range(100)), [same] * 2, depth=2)
    assert next(items) == 0
    for _ in range(1000):
        if len(made) > 1:
            break
        threading.Event().wait(0.001)
    assert 1 < len(made) <= 6
    assert list(items) == list(range(1, 100))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_closing_ends_the_threads(workers):
    before = threading.active_count()
    items = ahead(iter(range(100)), [same] * workers, depth=1)
    next(items)
    items.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("most", [None, "1", "3", "1000"])
def test_number_of_cores_equals_that_of_joblib(monkeypatch, most):
    if most is not None:
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", most)
    assert threads.core_count() == joblib.cpu_count()


@pytest.mark.parametrize(
    ("content", "limit"), [("150000 100000", 2), ("max 100000", None), ("", None), ("100000 0", None)]
)
def test_limit_of_a_container(monkeypatch, tmp_path, content, limit):
    """The content of cpu.max is the quota and the period, in microseconds."""
    file = tmp_path / "cpu.max"
    file.write_text(content)
    monkeypatch.setattr(threads, "CGROUP_2", file)
    assert threads.container_limit() == limit


@pytest.mark.parametrize(("quota", "limit"), [("50000", 1), ("-1", None)])
def test_limit_of_an_old_container(monkeypatch, tmp_path, quota, limit):
    files = tmp_path / "quota", tmp_path / "period"
    for file, number in zip(files, (quota, "100000"), strict=True):
        file.write_text(number)
    monkeypatch.setattr(threads, "CGROUP_2", tmp_path / "none")
    monkeypatch.setattr(threads, "CGROUP_1", files)
    assert threads.container_limit() == limit
