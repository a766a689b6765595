# `make run` and `make test` set up what they need and are quick when there is nothing left to do.
PYTHON := .venv/bin/python
ARGS ?=

# Another SimGrid comes first on the PATH, and brings a Python of its own.
WITH_SIMGRID4 := PATH="$(CURDIR)/.venv-simgrid4/bin:$$PATH"

.PHONY: setup run test coverage mutation test-slow test-browser test-extrap extrap test-simgrid4 simgrid4 lint types fuzz docs bench bench-steady bench-graph clean
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

# The newest SimGrid, built from its source, which takes a while, in an environment of its own; then the whole suite
# with it, and simulated times beside those of the other.
simgrid4: .venv-simgrid4/ready

test-simgrid4: simgrid4
	$(WITH_SIMGRID4) .venv-simgrid4/bin/python -m pytest -q -n 2 --dist loadgroup $(ARGS)
	$(WITH_SIMGRID4) .venv-simgrid4/bin/python -m pytest -q -n 2 --dist loadgroup -m slow tests/simgrid4

# Which lines of the four packages the whole suite runs, those of commands in processes of their own included.
coverage: setup
	$(PYTHON) -m pytest -q -n 2 --dist loadgroup --cov --cov-report=term --cov-report=html $(ARGS)

# Whether the tests of the equations notice a wrong one: half an hour (tests/mutation/README.md).
mutation: setup
	sh setup.sh mutation
	.venv/bin/mutmut run $(ARGS)
	$(PYTHON) tests/mutation/report.py

lint: setup
	.venv/bin/ruff check .

# Each reader of input for FUZZ_SECONDS: every exception but the clear error is a finding, kept in fuzz-findings/.
FUZZ_SECONDS ?= 600
FUZZ_READERS ?= $(filter-out common,$(basename $(notdir $(wildcard tests/hostile/readers/*.py))))
fuzz: setup
	sh setup.sh fuzz
	status=0; for reader in $(FUZZ_READERS); do \
		$(PYTHON) tests/hostile/fuzz/main.py $$reader $(FUZZ_SECONDS) || status=1; \
	done; exit $$status

# mypy --strict on the four packages.
types: setup
	sh setup.sh types
	.venv/bin/mypy

# The documentation as a site, in build/docs/html, where a warning is an error; then what is to be true of it.
docs: setup
	sh setup.sh docs
	.venv/bin/sphinx-build -q -W --keep-going -n -j auto -b html -d build/docs/doctrees docs build/docs/html $(ARGS)
	DOCS_SITE=build/docs/html $(PYTHON) -m pytest -q -m "slow or not slow" tests/docs/test_docs_site.py
	@echo "open build/docs/html/index.html"

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

.venv-simgrid4/ready: pyproject.toml tests/simgrid4/build.sh tests/simgrid4/requirements.txt setup.sh | .venv/ready
	sh setup.sh simgrid4
	touch $@

.venv-extrap/ready: predictor/extrap/requirements.txt setup.sh | .venv/ready
	sh setup.sh extrap
	touch $@

clean:
	rm -rf .venv .venv-extrap .venv-simgrid4 build dist mutants fuzz-findings *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
