"""The README does what it says."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ["README.md", "CONTRIBUTING.md", *(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md"))]
OUTPUTS = re.findall(r"```text\n(.*?)```", README, re.DOTALL)


def run(*command):
    return subprocess.run(
        [sys.executable, *command], check=True, capture_output=True, text=True, cwd=ROOT
    ).stdout


def test_the_python_blocks_print_what_stands_below_them():
    """One after the other, as a reader would type them; the example's output is not from a block."""
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    printed = run("-W", "error", "-c", "\nprint('---')\n".join(blocks)).split("---\n")
    assert printed == [output for output in OUTPUTS if "δ = 0.9" not in output]


def figures(text):
    """The accuracy, and the n-grams of each class, that a training has printed."""
    rows = [line.split("│")[1:3] for line in text.splitlines() if line.startswith("│")]
    classes = [name.strip() for name, _ in rows if name.strip()]
    words = set(re.findall(r"\w{4,}(?= [+])", "".join(cells for _, cells in rows)))
    return float(re.search(r"accuracy (0\.\d+)", text)[1]), classes, words


def test_the_first_screen_does_what_it_shows(tmp_path):
    """The texts depend on the versions installed, so figures are compared and not characters."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[:3]
    shown, shown_online = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    outputs = []
    for command in "".join(blocks).splitlines():
        if command.startswith("pip"):
            continue
        program = f"PATH={Path(sys.executable).parent}:$PATH; {command}"
        done = subprocess.run(["bash", "-c", program], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    exported, trained, evaluated, explained, predicted, online = outputs
    assert "300 texts" in exported
    accuracy, classes, words = figures(trained)
    expected_accuracy, expected_classes, expected_words = figures(shown)
    assert accuracy == pytest.approx(expected_accuracy, abs=0.04)
    assert classes == expected_classes
    assert len(words & expected_words) >= 0.5 * len(expected_words)
    assert float(re.search(r"accuracy +(0\.\d+)", evaluated)[1]) > 0.8
    for figure in ("accuracy", "log loss"):
        found, expected = (
            float(re.search(rf"{figure} (0\.\d+)", text)[1]) for text in (online, shown_online)
        )
        assert found == pytest.approx(expected, abs=0.04 if figure == "accuracy" else 0.1)
    assert "masked" in explained
    assert json.loads(predicted)["predicted"] in classes
    assert "<svg" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_simulation_prints_what_stands_below_it_and_is_no_worse_than_the_papers():
    """The paper has 0.73 where useful features are active and 0.55 over all rows."""
    stated = next(output for output in OUTPUTS if "δ = 0.9" in output)
    found, expected = (
        np.array(re.findall(r"rows (\S+) ±", text), float).reshape(2, 2)
        for text in (run("examples/dropout_training.py"), stated)
    )
    assert_allclose(found, expected, atol=0.002)  # another processor may round a few rows otherwise
    ridge, dropout = found
    assert dropout[0] >= 0.73
    assert dropout[1] >= 0.55
    assert np.all(dropout > ridge)


def test_the_blocks_of_the_page_on_online_learning_run():
    page = (ROOT / "docs" / "online.md").read_text(encoding="utf-8")
    printed = run("-W", "error", "-c", "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)))
    assert printed.split()[0] == "800"
    assert printed.split()[-1] == "good"


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    page = ROOT / name
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
