# `make run` and `make test` set up what they need and are quick when there is nothing left to do.
PYTHON := .venv/bin/python
ARGS ?=

.PHONY: setup run test test-slow test-browser test-extrap extrap lint types bench bench-steady bench-graph clean
setup: .venv/ready

run: setup
	$(PYTHON) -m validation.run --scenario grid4x8 $(ARGS)

test: setup
	.venv/bin/ruff check .
	$(PYTHON) -m pytest -q -n 2 --dist loadgroup $(ARGS)

# They include valgrind's, which are skipped where it is not installed.
test-slow: setup
	sh setup.sh slow
	$(PYTHON) -m pytest -q -n 2 --dist loadgroup -m slow $(ARGS)

# Chromium from the distribution, then the tests of pages in it; they are skipped where there is none.
test-browser: setup
	sh setup.sh browser
	$(PYTHON) -m pytest -q -m browser $(ARGS)

# Extra-P, for the predictor of that name, in an environment of its own; then its tests, which are skipped without it.
extrap: .venv-extrap/ready

test-extrap: extrap
	$(PYTHON) -m pytest -q tests/predictor/test_extrap.py $(ARGS)

lint: setup
	.venv/bin/ruff check .

# mypy --strict on the four packages.
types: setup
	sh setup.sh types
	.venv/bin/mypy

bench: setup
	$(PYTHON) benchmarks/cg_against_ring.py
	$(PYTHON) benchmarks/speed.py
	$(PYTHON) benchmarks/scaling.py
	$(PYTHON) benchmarks/graph_speed.py

# An hour: it needs full runs on a hundred random platforms.
bench-steady: setup
	$(PYTHON) benchmarks/steady_state.py

# Half an hour: errors of the graph predictors, parts left out, links that are off.
bench-graph: setup
	$(PYTHON) benchmarks/graph_errors.py

.venv/ready: pyproject.toml setup.sh
	sh setup.sh
	touch $@

.venv-extrap/ready: predictor/extrap/requirements.txt setup.sh | .venv/ready
	sh setup.sh extrap
	touch $@

clean:
	rm -rf .venv .venv-extrap build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
