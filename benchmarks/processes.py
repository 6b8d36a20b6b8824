"""Work in a process of its own, where memory starts from the same level each time."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def in_fresh_process(work: Callable[..., Result], *arguments: object) -> Result:
    """What the function returns."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *arguments).result()
