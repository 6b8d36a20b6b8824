"""Items that another thread makes ahead arrive in order, and so do its errors."""

import threading

import pytest

from dropglm.text.ahead import ahead


def test_an_error_is_raised_after_the_items_before_it():
    def items():
        yield 1
        yield 2
        raise KeyError("three")

    found = []
    with pytest.raises(KeyError, match="three"):
        found.extend(ahead(items()))
    assert found == [1, 2]


def test_items_are_made_ahead_but_not_without_end():
    made = []
    items = ahead((made.append(k) or k for k in range(100)), depth=2)
    assert next(items) == 0
    for _ in range(1000):
        if len(made) > 1:
            break
        threading.Event().wait(0.001)
    assert 1 < len(made) <= 5
    assert list(items) == list(range(1, 100))


def test_closing_ends_the_thread():
    before = threading.active_count()
    items = ahead(iter(range(100)), depth=1)
    next(items)
    items.close()
    assert threading.active_count() == before
