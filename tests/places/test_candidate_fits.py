"""Fits along a path start near the solutions of fits before them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dropglm.places.candidate_fits import Solutions, Start, starts_along


def solution(value):
    return np.full((2, 1), value), np.array([value])


def test_a_fit_starts_where_those_before_point_to():
    """A weaker l2 changes the solution as it did with the previous noise."""
    noises = [object(), object(), object()]
    path = [(noises[0], l2) for l2 in (10.0, 1.0, 0.1)]
    path += [(noises[1], l2) for l2 in (10.0, 0.1, 0.01)]  # 1 dropped out, 0.01 was not tried before
    path += [(noises[2], l2) for l2 in (0.1, 0.01)]
    starts = starts_along(path)
    assert starts[:3] == [Start(), Start(0), Start(1)]
    assert starts[3:6] == [Start(0), Start(3, (0, 2)), Start(4)]
    assert starts[6:] == [Start(4), Start(6, (4, 5))]
    solutions = Solutions(starts)
    assert solutions.start_of(0) is None
    for place, value in ((0, 1.0), (1, 2.0), (2, 4.0), (3, 1.5)):
        solutions.add(place, solution(value))
    beta, intercept = solutions.start_of(4)
    assert_allclose(beta, 4.5)
    assert_allclose(intercept, 4.5)


def test_the_first_fit_starts_where_it_is_told():
    assert Solutions(starts_along([(None, 1.0)]), solution(3.0)).start_of(0)[1][0] == 3.0


@given(
    st.lists(st.lists(st.sampled_from([3.0, 1.0, 0.3]), min_size=1, unique=True), min_size=1, max_size=4),
    st.randoms(),
)
def test_all_fits_wait_for_the_first_and_solutions_are_kept_as_long_as_needed(grid, random):
    """In whatever order the fits run, as long as each comes after those that it starts from."""
    path = [(noise, l2) for noise, values in enumerate(grid) for l2 in sorted(values, reverse=True)]
    starts = starts_along(path)
    assert starts[0].needs == ()
    assert all(start.needs and max(start.needs) < place for place, start in enumerate(starts) if place)
    solutions, done = Solutions(starts), set()
    while len(done) < len(path):
        ready = [k for k in range(len(path)) if k not in done and done.issuperset(starts[k].needs)]
        place = random.choice(ready)
        solutions.start_of(place)
        solutions.add(place, solution(1.0))
        done.add(place)
    assert not solutions._found
