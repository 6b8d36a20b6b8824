"""The number of cores is that of joblib, whatever limits it."""

import joblib
import pytest

from dropglm.base import threads


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
