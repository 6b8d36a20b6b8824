"""Tests in a real browser are skipped where there is none."""

import pytest
from benchmarks.chromium import CHROMIUM, DRIVER

needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver (Debian: chromium, chromium-driver)"
)
