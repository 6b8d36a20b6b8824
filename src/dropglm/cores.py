"""The number of cores that this process may use."""

import math
import os
from pathlib import Path

CGROUP_2 = Path("/sys/fs/cgroup/cpu.max")
CGROUP_1 = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")


def core_count() -> int:
    """Return the number of cores: those that the process may run on, and the limits of its container.

    As ``joblib.cpu_count``, which takes longer to import than to write again; the environment variable
    ``LOKY_MAX_CPU_COUNT`` limits both.

    Examples
    --------
    >>> core_count() >= 1
    True
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    most = int(os.environ.get("LOKY_MAX_CPU_COUNT", cores))
    return max(1, min(cores, most, container_limit() or cores))


def container_limit() -> int | None:
    """Return the number of cores that a container may use, rounded up, or None without a limit."""
    try:
        quota, period = (
            CGROUP_2.read_text().split() if CGROUP_2.exists() else (file.read_text() for file in CGROUP_1)
        )
        limit = float(quota) / float(period)  # "max" is not a number
    except (OSError, ValueError, ZeroDivisionError):
        return None
    return math.ceil(limit) if limit > 0 else None
