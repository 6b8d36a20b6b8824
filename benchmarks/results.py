"""Write the tables of the experiments into docs/results.md, from the raw lines of ``make reproduce``.

python -m benchmarks.results [FOLDER]
"""

import sys
from pathlib import Path

from benchmarks.report import ROOT, table
from dropglm.experiments import EXPERIMENTS, wanted


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "reproduced")
    parts = ["# What the experiments show\n\nWritten by `make reproduce`; do not edit.\n"]
    for name, experiment in EXPERIMENTS.items():
        lines = wanted(name, experiment, folder)
        parts.append(f"## {experiment.title}\n\n{experiment.protocol}\n")
        for found in experiment.collect(lines):
            cells = table(tuple(found.header), [tuple(row) for row in found.rows])
            parts.append(f"### {found.title}\n\n{cells}\n")
    (ROOT / "docs" / "results.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
