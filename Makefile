# Every target does its own set-up: a machine with Python 3.11, pip and make is enough.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow lint schemas clean

demo: .venv/installed
	$(BIN)/attune-bench demo

test: .venv/installed-dev
	# One process more than processors, as some tests wait for servers.
	$(BIN)/python -m pytest -n $$($(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)') --dist worksteal

test-slow: .venv/installed-dev
	$(BIN)/python -m pytest -m slow

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

schemas: .venv/installed-dev
	$(BIN)/python tests/helpers/schema_files.py

clean:
	rm -rf .venv dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plots]'
	touch $@

.venv/installed-dev: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ .venv/installed
