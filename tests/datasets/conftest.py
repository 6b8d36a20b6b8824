import pytest


@pytest.fixture
def places(tmp_path, monkeypatch):
    """An empty user folder and an empty cache, and no proxy for connections to this machine."""
    home, cache = tmp_path / "home", tmp_path / "cache"
    home.mkdir()
    monkeypatch.setenv("DROPGLM_DATA", str(home))
    monkeypatch.setenv("DROPGLM_CACHE", str(cache))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return home, cache
