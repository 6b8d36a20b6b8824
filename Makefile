# make demo   the paper's experiments in small: tables in the terminal and a page, from nothing but Python 3.11 and make
# make test   the whole suite, with the linters
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint format bench reproduce lock clean

demo: $(VENV)/.all
	$(BIN)/dropglm reproduce --all --quick --out demo

test: lint $(VENV)/.test
	$(BIN)/python -m pytest --numprocesses auto

lint: $(VENV)/.lint $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Needs DROPGLM_DATA, the folder with imdb.parquet; rewrites docs/measured.md and the README's table.
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.report

# The paper's experiments: a page of all of them in reproduced/, their tables in docs/ and the README. Goes on where
# it was stopped; data sets come from DROPGLM_DATA or are fetched. dropglm reproduce list says what each one takes.
reproduce: $(VENV)/.all
	$(BIN)/dropglm reproduce --all
	$(BIN)/python -m benchmarks.results

# One stamp for each extra of pyproject.toml, all in one environment.
$(VENV)/.%: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dropglm needs Python 3.11 or newer; set PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[$*]'
	@touch $@

# The newest versions that fit pyproject.toml, tried in an environment of their own.
lock:
	rm -rf $(VENV)-lock
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet '.[all,test,lint,bench]'
	{ head -1 constraints.txt; $(VENV)-lock/bin/python -m pip list --format=freeze | grep -viE '^(dropglm|pip|setuptools)='; } > constraints.new
	mv constraints.new constraints.txt
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) demo reproduced build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
