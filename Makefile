# `make run` and `make test` set up what they need and are quick when there is nothing left to do.
PYTHON := .venv/bin/python
ARGS ?=

# Compiled modules are kept between runs: without them each run rewrites all tests, twice with two workers, and each
# command that a test starts compiles the four packages anew.
unexport PYTHONDONTWRITEBYTECODE

# Puts another SimGrid first on the PATH, with a Python of its own.
WITH_SIMGRID4 := PATH="$(CURDIR)/.venv-simgrid4/bin:$$PATH"

.PHONY: setup run test coverage mutation adversary test-machine test-slow test-browser test-extrap extrap test-simgrid4 simgrid4 lint types fuzz docs wheels test-wheels test-installed release bench bench-steady bench-graph clusters clean
setup: .venv/ready

run: setup
	$(PYTHON) -m validation.run --scenario grid4x8 $(ARGS)

# The workers take both cores: threads of NumPy's linear algebra would only wait for each other, at full load.
test test-slow coverage: export OPENBLAS_NUM_THREADS := 1

# Neighbouring tests go to the same worker (worksteal), which makes what they share once: fixtures and runs.
# The tests of real machines run two ranks of Open MPI; without it they are skipped.
test: lint
	@command -v mpirun >/dev/null && command -v mpicc >/dev/null || ! command -v apt-get >/dev/null || \
		sh setup.sh mpi || echo "make test: there is no Open MPI, so the tests of machines are skipped" >&2
	$(PYTHON) -m pytest -q -n 2 --dist worksteal $(ARGS)

# All kernels under Open MPI and MPICH, and whatever else of real machines takes long or needs root; at most 4 minutes.
test-machine: setup
	sh setup.sh machine
	$(PYTHON) -m pytest -q -m machine $(ARGS)

# The slow tests, including those with valgrind, which are skipped if it is not installed.
test-slow: setup
	sh setup.sh slow
	$(PYTHON) -m pytest -q -n 2 --dist worksteal -m slow $(ARGS)

# Installs Chromium and pj_dump from the distribution, then runs the tests of pages and timelines in them; without them
# the tests are skipped.
test-browser: setup
	sh setup.sh browser
	$(PYTHON) -m pytest -q -m browser $(ARGS)

# Installs Extra-P, for the predictor of that name, in an environment of its own.
extrap: .venv-extrap/ready

# The tests of that predictor, which are skipped without Extra-P.
test-extrap: extrap
	$(PYTHON) -m pytest -q tests/predictor/extrap/test_extrap.py $(ARGS)

# Builds SimGrid 4.1 from source, which takes a while, in an environment of its own.
simgrid4: .venv-simgrid4/ready

# The whole test suite with SimGrid 4.1, and a comparison of simulated times with those of the distribution's SimGrid.
test-simgrid4: simgrid4
	$(WITH_SIMGRID4) .venv-simgrid4/bin/python -m pytest -q -n 2 --dist worksteal $(ARGS)
	$(WITH_SIMGRID4) .venv-simgrid4/bin/python -m pytest -q -n 2 --dist worksteal -m slow tests/simgrid4

# Measures which lines of the four packages the whole suite runs, including commands in child processes.
coverage: setup
	$(PYTHON) -m pytest -q -n 2 --dist worksteal --cov --cov-report=term --cov-report=html $(ARGS)

# Checks that the tests of the equations notice wrong equations; takes half an hour (tests/mutation/README.md).
mutation: setup
	sh setup.sh mutation
	.venv/bin/mutmut run $(ARGS)
	$(PYTHON) tests/mutation/report.py

# Tries N programs drawn at random, extrapolated against simulated in full; 100 take a minute and a half
# (docs/validation/extrapolation.md), N whose messages may pile up, and N that ask for what changes by itself, time
# themselves or use what ranks share; then 300 that are learned on few ranks (docs/validation/extrapolation.md).
N ?= 1000
adversary: setup
	$(PYTHON) -m tests.adversary.main $(N)
	$(PYTHON) -m tests.adversary.piling $(N)
	$(PYTHON) -m tests.adversary.surroundings $(N)
	$(PYTHON) -m tests.adversary.any_count 300

# Builds the wheels of the project and of SimGrid in dist/, for machines without root and compiler (docs/installation.md).
# FORM=system copies the distribution's SimGrid instead of compiling its source.
FORM ?=
wheels: setup
	sh setup.sh wheels
	sh packaging/wheels.sh $(FORM)

# Puts a release together in dist/ and says what is left to do; nothing is uploaded.
release: wheels
	sh packaging/release.sh

# Runs some of the tests against the installed wheels, with the distribution's SimGrid, in a folder without the packages.
test-installed: setup
	sh setup.sh wheels
	sh packaging/test_installed.sh $(ARGS)

# Tries the wheels of dist/ in bare Debian folders, as a user without network and compiler; takes minutes, and root.
test-wheels: setup
	@command -v debootstrap >/dev/null || sh setup.sh wheels
	sh packaging/test_wheels.sh $(ARGS)

# Style, and that imports go one way (docs/architecture.md).
lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports --no-cache

# Fuzzes each reader of input for FUZZ_SECONDS.  Every exception except UserError is a finding, kept in fuzz-findings/.
FUZZ_SECONDS ?= 600
FUZZ_READERS ?= $(filter-out common,$(basename $(notdir $(wildcard tests/hostile/readers/*.py))))
fuzz: setup
	sh setup.sh fuzz
	status=0; for reader in $(FUZZ_READERS); do \
		$(PYTHON) tests/hostile/fuzz/main.py $$reader $(FUZZ_SECONDS) || status=1; \
	done; exit $$status

# Runs mypy --strict on the four packages.
types: setup
	sh setup.sh types
	.venv/bin/mypy

# Builds the documentation as a site in build/docs/html, with warnings as errors, and tests the site.
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
	$(PYTHON) benchmarks/first_use.py
	$(PYTHON) benchmarks/recording.py
	$(PYTHON) benchmarks/soon.py

# Takes an hour: it needs full runs on a hundred random platforms.
bench-steady: setup
	$(PYTHON) benchmarks/steady_state.py

# Takes half an hour: errors of the graph predictors, also with parts left out and with links that are off.
bench-graph: setup
	$(PYTHON) benchmarks/graph_errors.py

# Writes the tables and figures of the pages on real clusters: predictions of published and measured runs. Their league
# is published in the static site results/public.
clusters: setup
	$(PYTHON) docs/write_clusters.py
	.venv/bin/gridval report --public results/public --clusters docs/results/clusters.csv

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
