"""The README does what it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
OUTPUTS = re.findall(r"```text\n(.*?)```", README, re.DOTALL)


def run(*command):
    return subprocess.run(
        [sys.executable, *command], check=True, capture_output=True, text=True, cwd=ROOT
    ).stdout


def test_the_ten_lines_print_what_stands_below_them():
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    assert len(code.strip().splitlines()) <= 10
    assert run("-c", code) == OUTPUTS[0]


def test_the_training_example_prints_what_stands_below_it():
    assert run("examples/dropout_training.py") == OUTPUTS[1]


def test_the_demo_writes_a_page_that_loads_nothing_from_elsewhere(tmp_path):
    script = ROOT / "examples" / "demo.py"
    done = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert "monte_carlo" in done.stdout
    page = (tmp_path / "demo" / "index.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4
    assert not re.findall(r"(?:src|href)=\"(?!#)", page)
    assert "url(http" not in page


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/mathematics.md", "docs/glossary.md"])
def test_links_lead_somewhere(name):
    page = ROOT / name
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
