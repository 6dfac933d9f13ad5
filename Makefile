# `make demo` and `make test` set up all they need: Python 3.11 or later and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := compass_core oracle proofs simulation

.DEFAULT_GOAL := help
.PHONY: help demo check format test test-full bench lock clean

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

demo: $(VENV)/.runtime  ## set up, then measure the example cluster
	@$(BIN)/sifopt measure examples/snapshots/kubernetes.json

test: $(VENV)/.dev  ## set up, then run the tests
	$(BIN)/python -m pytest -n auto -m "not slow" --cov --cov-report=term:skip-covered

test-full: $(VENV)/.dev  ## every test, the slow suites included
	COMPASS_HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n auto

check: $(VENV)/.dev  ## format, lint, types, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## format and apply the safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev  ## run the benchmarks
	$(BIN)/python -m pytest benchmarks -q --benchmark-columns=min,median,max,rounds --benchmark-sort=name

lock: $(VENV)/.dev  ## renew the lock files after a change of dependencies
	@$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --upgrade pyproject.toml -o requirements/runtime.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --extra dev -c requirements/runtime.txt pyproject.toml -o requirements/dev.txt

clean:           ## remove what the targets made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks .coverage dist

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "compass-abs needs Python 3.11 or later; name one with make PYTHON=...")'
	@echo "setting up $(VENV) (once)" >&2
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/runtime.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@
