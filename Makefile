# Two commands on a fresh machine: `make demo` and `make test`. Both make their own .venv.
PYTHON ?= python3
BIN := .venv/bin
OLD := .venv-oldest/bin

export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-newest test-oldest check format paper clean

demo: .venv/demo
	$(BIN)/python examples/demo.py

test: test-newest test-oldest

test-newest: .venv/test
	$(BIN)/python -m pytest -q --cov --cov-report=term:skip-covered --cov-fail-under=95

# The lowest versions that pyproject.toml promises, on the same suite.
test-oldest: .venv-oldest/test
	NUMBA_CACHE_DIR=.venv-oldest/numba $(OLD)/python -m pytest -q -p no:cacheprovider

check: .venv/check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "foretree needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	@touch $@

.venv/demo: .venv/made pyproject.toml
	$(BIN)/python -m pip install -q -e '.[demo]'
	@touch $@

.venv/test: .venv/made pyproject.toml
	$(BIN)/python -m pip install -q -e '.[test]'
	@touch $@

.venv/check: .venv/made pyproject.toml
	$(BIN)/python -m pip install -q -e '.[test,check]'
	@touch $@

.venv-oldest/test: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv .venv-oldest
	$(OLD)/python -m pip install -q -r tests/oldest.txt
	$(OLD)/python -m pip install -q -e . --no-deps
	@touch $@

# The paper's whole study into docs/paper; the 19 tables are looked for in FORETREE_DATA, else in ../shared/data.
paper: .venv/test
	FORETREE_DATA=$${FORETREE_DATA:-../shared/data} $(BIN)/foretree bench run --jobs 2
	FORETREE_DATA=$${FORETREE_DATA:-../shared/data} $(BIN)/foretree bench report --out docs/paper

clean:
	rm -rf .venv .venv-oldest .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
	find . -name __pycache__ -prune -exec rm -rf {} +
