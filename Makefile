# Every target does its own set-up: a machine with Python 3.11, pip and make is enough.
PYTHON ?= python3
BIN := .venv/bin

# Hundreds of tests start Python: without bytecode each would compile the library anew.
export PYTHONDONTWRITEBYTECODE =

# pip of an older Python would look for minutes for versions that it can install.
define new_environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo 'attune-bench needs Python 3.11 or newer, and $(PYTHON) is not: make PYTHON=python3.11' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo '$(PYTHON) has no module venv: install it (on Debian and Ubuntu the package python3-venv)' >&2; exit 1; }
	$(PYTHON) -m venv .venv
endef

.PHONY: demo dist docs pictures test test-slow test-nightly bench lint schemas demo-data clean

demo: .venv/installed
	$(BIN)/attune-bench demo
	@echo 'Before you use attune-bench in this terminal: . .venv/bin/activate'

dist: .venv/installed-dev
	# Twice, so that anybody can build the same bytes again; the wheel is made of the sdist.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check twine zopflipy
	rm -rf dist
	for folder in dist dist/again; do $(BIN)/python -m build --outdir $$folder . || exit 1; done
	for file in dist/again/*; do cmp $$file dist/$${file##*/} || exit 1; done
	rm -r dist/again
	$(BIN)/python tools/repack.py dist/*.whl
	$(BIN)/twine check --strict dist/*

docs: .venv/installed-docs
	$(BIN)/python -m zensical build --strict --clean
	$(BIN)/python -m website.shrink site

pictures: .venv/installed-dev
	PYTHONPATH=tests/helpers $(BIN)/python tools/pictures.py

test: .venv/installed-dev
	# Where each processor has a process, threads of OpenBLAS and Polars would wait for each other.
	# As many processes as processors: each collects all tests, and few tests wait.
	OPENBLAS_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/python -m pytest -n $$($(PYTHON) -c 'import os; print(os.cpu_count() or 1)') --dist worksteal

test-slow: .venv/installed-dev
	# Two processes, as most of these tests wait for installations; a file in one, as its tests share environments; and
	# files in the order of tests/conftest.py, the longest first.
	$(BIN)/python -m pytest -m 'slow and not nightly' -n 2 --dist loadfile --no-loadscope-reorder

test-nightly: .venv/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python tests/nightly.py

bench: .venv/installed-dev
	PYTHONPATH=tools $(BIN)/python benchmarks/bench.py

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

schemas: .venv/installed-dev
	$(BIN)/python tests/helpers/schema_files.py
	$(BIN)/python tests/helpers/public_surface.py

demo-data: .venv/installed-dev
	PYTHONPATH=tools $(BIN)/python -m synthetic.demo

clean:
	rm -rf .venv dist site .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis

.venv/installed: pyproject.toml
	$(new_environment)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plots]'
	touch $@

.venv/installed-dev: pyproject.toml
	$(new_environment)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ .venv/installed

.venv/installed-docs: pyproject.toml
	$(new_environment)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@
