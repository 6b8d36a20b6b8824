"""The label page marks n-grams where they occur as tokens; in Node, with a page that only collects parts."""

import json
import shutil
import subprocess
from pathlib import Path
from unicodedata import normalize

import pytest

import dropglm.web

MARKS = Path(dropglm.web.__file__).parent / "static" / "label" / "marks.js"
IN_NODE = """
import { showMarked } from %s;
const style = { setProperty() {} };
globalThis.document = { createElement: () => ({ textContent: "", className: "", style }) };
const [text, ngrams] = JSON.parse(process.argv[1]);
const box = { replaceChildren: (...parts) => { box.parts = parts; } };
showMarked(box, text, ngrams);
const mark = ({ className, textContent }) => (className === " for" ? `[${textContent}]` : `<${textContent}>`);
console.log(JSON.stringify(box.parts.map((part) => (typeof part === "string" ? part : mark(part))).join("")));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.parametrize(
    ("text", "ngrams", "marked"),
    [
        ("A great, great film", [("great film", 1.0)], "A great, [great film]"),
        ("greatest and great", [("great", -1.0)], "greatest and <great>"),
        ("great, so fun", [("great", 0.3), ("so", 0.05), ("fun", -0.09)], "[great], so fun"),
        ("不过iPhone手机很好看", [("很好", 1.0), ("iphone", -1.0)], "不过<iPhone>手机[很好]看"),
        ("房间 不\n好，机", [("不好", -1.0), ("房", 1.0)], "[房]间 <不\n好>，机"),
        ("iPhones手机", [("iphone", 1.0), ("iphone 手", 1.0)], "iPhones手机"),
        ("iPhone手机", [("iphone 手", 1.0)], "[iPhone手]机"),
        ("映画はとてもよかったー", [("とて", 1.0), ("たー", -1.0)], "映画は[とて]もよかっ<たー>"),
        ("ดีมาก", [("ดี", 1.0)], "[ดี]มาก"),
        ("영화가 좋다", [("영화", 1.0), ("좋다", 1.0)], "영화가 [좋다]"),
        (normalize("NFD", "die schöne Größe"), [("schöne", 1.0)], "die [schöne] Größe"),
    ],
)
def test_ngrams_are_marked_where_they_are_tokens(text, ngrams, marked):
    program = IN_NODE % json.dumps(MARKS.as_uri())
    command = ["node", "--input-type=module", "-e", program, json.dumps([text, ngrams])]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.stdout, found.stderr
    assert json.loads(found.stdout) == marked
