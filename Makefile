# make demo   the paper's experiments in small: tables in the terminal and a page, from nothing but Python 3.11 and make
# make test   the whole suite, with the linters
PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
# Windows keeps the programs of an environment in Scripts; make runs there with the shell of Git for Windows.
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# What an installation needs in the environment itself, so that functions are compiled by the Numba that will run them.
BUILD := hatchling hatch-vcs editables 'setuptools-scm>=10' numba scikit-learn scipy threadpoolctl

.PHONY: demo test pytest test-slow test-oldest lint format bench bench-cores bench-gpu faults reproduce readme docs dist lock clean

demo: $(VENV)/.all
	$(BIN)/dropglm reproduce --all --quick --out demo

test: lint pytest

pytest: $(VENV)/.test
	$(BIN)/dropglm compile --quiet
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal $(ARGS)

# The tests that take long, each with a quicker relative in the suite.
test-slow:
	$(MAKE) pytest ARGS="-m slow"

# The suite with the oldest versions that pyproject.toml allows, in an environment of its own; ARGS=... goes to pytest.
test-oldest: constraints-oldest.txt
	$(MAKE) VENV=$(VENV)-oldest CONSTRAINTS=constraints-oldest.txt pytest

constraints-oldest.txt: pyproject.toml .ci/oldest.py
	$(PYTHON) .ci/oldest.py > $@

lint: $(VENV)/.lint $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python .ci/docstrings.py

format: $(VENV)/.lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Needs DROPGLM_DATA, a folder with imdb.parquet and 20news.parquet; rewrites docs/measured.md and the README's table of
# speed. SECTIONS="jobs gaps" measures only these sections again; benchmarks/report.py lists their names.
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.report $(SECTIONS)
	$(BIN)/python -m benchmarks.readme --tables

# The same work on 1, 2, 4, ... threads of this machine.
bench-cores: $(VENV)/.bench
	$(BIN)/python -m benchmarks.cores --out benchmarks/.cache/cores.md
	$(BIN)/python -m benchmarks.report --cores benchmarks/.cache/cores.md

# On a machine with a GPU; DATA is a file that `python -m benchmarks.gpu --prepare FILE` wrote, there or elsewhere.
bench-gpu: $(VENV)/.bench $(VENV)/.cuda
	$(BIN)/python -m benchmarks.gpu $(DATA)

# A fault at every write of a journal, a model file and a checkpoint; rewrites docs/nothing-lost.md. Linux only.
faults: $(VENV)/.test
	$(BIN)/python -m benchmarks.faults

# The paper's experiments: a page with all of them in reproduced/, their tables in docs/ and the README. An interrupted
# run is resumed. Data sets come from DROPGLM_DATA or are downloaded; `dropglm reproduce list` says how long each takes.
reproduce: $(VENV)/.all
	$(BIN)/dropglm reproduce --all
	$(BIN)/python -m benchmarks.results

# Runs the README's examples and writes what they print into it, and the picture into docs/.
readme: $(VENV)/.all
	$(BIN)/python -m benchmarks.readme

# The site, in docs/_build/html; warnings are errors. Runs the examples of the gallery that have changed. Threads of BLAS
# wait actively for each other, which makes scikit-learn's fits to few rows 15 times slower where others use the cores.
docs: $(VENV)/.docs
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m sphinx --fail-on-warning --keep-going --jobs auto docs docs/_build/html
	@echo "Open docs/_build/html/index.html, or serve it: $(BIN)/python -m http.server --directory docs/_build/html"

# The wheel and the source distribution in dist/, each installed and tried in an environment of its own.
dist:
	rm -rf dist $(VENV)-dist
	$(PYTHON) -m venv $(VENV)-dist
	$(subst $(VENV)/,$(VENV)-dist/,$(BIN))/python -m pip install --quiet --disable-pip-version-check build
	$(subst $(VENV)/,$(VENV)-dist/,$(BIN))/python -m build --outdir dist
	$(PYTHON) .ci/dist.py dist
	rm -rf $(VENV)-dist

# One stamp per extra of pyproject.toml, all in one environment.
$(VENV)/.%: pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dropglm needs Python 3.11 or newer; set PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --constraint $(CONSTRAINTS) $(BUILD)
	$(PIP) --constraint $(CONSTRAINTS) --no-build-isolation --editable '.[$*]'
	@touch $@

# The newest versions that fit pyproject.toml, tried in an environment of their own.
lock:
	rm -rf $(VENV)-lock
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet '.[all,test,lint,docs,bench]'
	{ head -1 constraints.txt; $(VENV)-lock/bin/python -m pip list --format=freeze | grep -viE '^(dropglm|pip|setuptools)='; } > constraints.new
	mv constraints.new constraints.txt
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) $(VENV)-oldest constraints-oldest.txt demo reproduced build dist
	rm -rf docs/_build docs/gallery docs/reference/generated docs/reference/backreferences docs/_figures docs/sg_execution_times.rst
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
