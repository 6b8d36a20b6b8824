"""The parts of the documentation site that do not need Sphinx; ``make docs`` builds the rest."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from gallery_order import ORDER, Order  # noqa: E402
from page_worker import Session  # noqa: E402


def test_the_order_of_the_gallery_lists_every_example():
    examples = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert set(ORDER) == examples
    assert sorted(examples, key=lambda name: Order("")(f"{name}.py")) == ORDER


def test_examples_ask_a_question_in_their_title():
    for name in ORDER:
        lines = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8").splitlines()
        assert lines[1].endswith("?"), name
        assert lines[2] == "=" * len(lines[1]), name


def test_blocks_of_a_page_share_names_and_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = Session()
    assert session.python("from pathlib import Path\nx = Path('x.txt').write_text('ab')", None) == ""
    assert session.sh("cat \\\nx.txt", None) == "ab\n"
    assert session.python("print(x + 1)", None) == "3\n"
    with pytest.raises(RuntimeError, match="false"):
        session.sh("false", None)


def test_a_block_stores_its_figure(tmp_path):
    figure = tmp_path / "figures" / "one.svg"
    Session().python("import matplotlib.pyplot as plt\nplt.plot([1, 2])", str(figure))
    assert figure.read_text(encoding="utf-8").startswith("<?xml")


def test_the_list_of_versions_has_the_version_that_is_built():
    versions = json.loads((ROOT / "docs" / "switcher.json").read_text(encoding="utf-8"))
    assert versions[0]["version"] == "dev"
    assert all({"name", "version", "url"} == each.keys() for each in versions)


def test_parts_of_other_pages_are_found_by_text_that_occurs_once():
    found = 0
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for path, options in re.findall(r"^```\{include\} (\S+)\n(.*?)```", text, re.MULTILINE | re.DOTALL):
            included = (page.parent / path).resolve().read_text(encoding="utf-8")
            for mark in re.findall(r'^:(?:start-after|end-before): "(.*)"$', options, re.MULTILINE):
                found += 1
                assert included.count(mark) == 1, (page, mark)
    assert found >= 8
