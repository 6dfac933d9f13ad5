# `make demo` and `make test` set up all they need: Python 3.11 or later and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := compass_core oracle proofs simulation
MUTANTS := .mutants

.DEFAULT_GOAL := help
.PHONY: help demo check format quick test test-background test-full bench examples dist release-notes docs lock clean mutants mutants-tool

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

demo: $(VENV)/.runtime  ## set up, then measure the example cluster
	@$(BIN)/sifopt measure examples/snapshots/kubernetes.json

# While you work: every folder of the tests, with a tenth of the examples of each property.
quick: $(VENV)/.dev  ## format, lint, and the tests that are quick, in under two minutes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	COMPASS_HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -q -n auto -m "not slow and not long"

# To count what is covered doubles the time of the tests.
test: $(VENV)/.dev  ## set up, then run the tests (COVERAGE=1: and see that they cover enough)
	$(BIN)/python -m pytest -n auto -m "not slow" $(if $(COVERAGE),--cov --cov-report=term:skip-covered)

test-background: $(VENV)/.dev  ## the tests that use signals, with SIGINT ignored as under nohup and in scripts
	trap '' INT; $(BIN)/python -m pytest -m signals

test-full: $(VENV)/.dev  ## every test, the slow suites included
	COMPASS_HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n auto --timeout=7200 -o faulthandler_timeout=9000

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
	$(BIN)/python -m pytest benchmarks -q --timeout=7200 -o faulthandler_timeout=9000 --benchmark-columns=min,median,max,rounds --benchmark-sort=name

examples: $(VENV)/.dev  ## run the example scripts as their docstrings show, and renew the notebooks
	$(BIN)/python examples/notebooks/execute.py
	$(BIN)/python -m pytest -q tests/examples

dist: $(VENV)/.dev  ## build the sdist and the wheel into dist/
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

release-notes:   ## print the changes of VERSION=X.Y.Z, or those not yet released
	@awk -v heading='## [$(or $(VERSION),Unreleased)]' '/^## / { found = index($$0, heading) == 1 } found' CHANGELOG.md

# From nothing: a page that is no more would still be there, and linked to.
docs: $(VENV)/.dev  ## make the site, in docs/_build/html; warnings and broken links are errors
	rm -rf docs/_build/html
	$(BIN)/python -m docs.making
	$(BIN)/python -m sphinx -W --keep-going --quiet -b html docs docs/_build/html
	$(BIN)/python -m docs.making.links
	@echo docs/_build/html/index.html

MODULES = $(or $(MODULE),$(patsubst compass_core/%.py,%,$(filter-out %/__init__.py,$(wildcard compass_core/*.py compass_core/*/*.py))))
FOLDER = tests/core/$(filter-out ./,$(dir $*))
FIRST_TESTS = tests/core/test_values.py $(wildcard $(FOLDER)test_$(notdir $*).py)

# On a copy: cosmic-ray writes each mutant into the file itself. No bytecode: a mutant of the same size and second as the
# one before would not be compiled again. The tests of the module come first, then the others beside them.
mutants: $(addprefix mutants/,$(MODULES))  ## break the core operator by operator and test it (MODULE=steps: one module)

mutants-tool: $(VENV)/.dev
	rm -rf $(MUTANTS) && mkdir -p $(MUTANTS)
	git ls-files -co --exclude-standard -z | tar -c --null -T - | tar -x -C $(MUTANTS)
	$(PYTHON) -m venv $(MUTANTS)/tool && $(MUTANTS)/tool/bin/pip install --quiet cosmic-ray==8.7.0

mutants/%: mutants-tool
	cd $(MUTANTS) && sed 's|^module-path.*|module-path = "compass_core/$*.py"|' cosmic-ray.toml > one.toml
	cd $(MUTANTS) && tool/bin/cosmic-ray init --force one.toml one.sqlite
	cd $(MUTANTS) && tool/bin/cr-filter-operators one.sqlite one.toml
	cd $(MUTANTS) && PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONDONTWRITEBYTECODE=1 \
	  TESTS="$(FIRST_TESTS) $(filter-out $(FIRST_TESTS),$(wildcard $(FOLDER)test_*.py))" tool/bin/cosmic-ray exec one.toml one.sqlite
	cd $(MUTANTS) && tool/bin/cr-report --surviving-only --show-diff one.sqlite

lock: $(VENV)/.dev  ## renew the lock files after a change of dependencies
	@$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --upgrade pyproject.toml -o requirements/runtime.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --extra dev -c requirements/runtime.txt pyproject.toml -o requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python docs/dependency_list.py

clean:           ## remove what the targets made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks .coverage dist docs/_build $(MUTANTS)

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
