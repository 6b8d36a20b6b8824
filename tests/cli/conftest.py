import json

import pytest

from dropglm.text import encoders
from tests.cli.command import dropglm, texts, write_csv


@pytest.fixture(autouse=True)
def without_hints(monkeypatch):
    """Do not try an encoder after every training: it takes as long as the training itself."""
    monkeypatch.setattr(encoders, "is_installed", lambda name: False)


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """Return a folder with tables and a model trained on them."""
    folder = tmp_path_factory.mktemp("cli")
    write_csv(folder / "reviews.csv", zip(*texts(80), strict=True))
    write_csv(folder / "test.csv", zip(*texts(40, seed=1), strict=True))
    with open(folder / "more.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts(60, seed=2)[0])
    dropglm("train", "reviews.csv", "--unlabeled", "more.jsonl", "--no-tune", "--out", "m.skops", cwd=folder)
    return folder
