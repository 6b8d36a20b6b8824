"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

python .ci/oldest.py > constraints-oldest.txt
"""

import re
import tomllib
from pathlib import Path

# Old Matplotlib and Typer call functions that newer pyparsing and click have deprecated, and warnings are
# errors in the tests.
CONTEMPORARIES = ["click<8.3", "pyparsing<3.3"]
EXTRAS = (
    "tables",
    "cli",
    "models",
    "plots",
    "data",
    "label",
    "export",
    "test",
)  # not the linters, not the benchmarks' rivals


def oldest(project: dict) -> list[str]:
    """Return the lower bound of each requirement as ``name==version``, sorted."""
    extras = project["optional-dependencies"]
    requirements = {*project["dependencies"], *(each for extra in EXTRAS for each in extras[extra])}
    return sorted(
        "==".join(bound.groups())
        for requirement in requirements
        if (bound := re.match(r"([\w.-]+)>=([\d.]+)", requirement))
    )


if __name__ == "__main__":
    pyproject = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    print("\n".join([*oldest(pyproject["project"]), *CONTEMPORARIES]))
