# Every target sets up its own environment in .venv; nothing else is needed but Python 3.11+ and make.
PYTHON ?= python3
EXTRAS ?= dev
comma := ,
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.ready-$(subst $(comma),-,$(EXTRAS))
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: demo test rest test-all again quick lint bench faults installed fresh fuzz load docs site tutorials pictures picture screenshots results lowest locks clean size fingerprint

demo: $(READY)  ## label handwritten digits by asking about a few of them
	$(BIN)/querist demo

test: lint $(DEV)  ## lint, types, import contract, then every test but the long ones
	$(PYTEST) -n auto --dist loadfile --durations 25 -m "not long"

rest: $(DEV)  ## the long tests: site, tutorials, wheels, servers that are killed
	$(PYTEST) -n auto --dist loadfile --durations 10 -m long

test-all: test rest  ## every test

again: lint $(DEV)  ## the tests that failed last time, one after the other
	$(PYTEST) --last-failed --last-failed-no-failures none

quick: lint $(DEV)  ## lint and the tests that are not slow
	$(PYTEST) -n auto --dist loadfile -m "not slow and not long" tests

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

BENCHMARKS ?= online pounce embedding collective budgeted experiment questions label_files

bench: $(DEV)  ## ratios measured side by side, in one run; BENCHMARKS="online ..." for some of them
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done

faults: $(DEV)  ## servers killed 200 times on each store, ask 1,000 times; disks that are full, files damaged
	QUERIST_FAULTS=200 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/faults

installed: $(DEV)  ## wheel and sdist in a new environment, and every verb there
	QUERIST_INSTALLED=1 $(BIN)/python -m pytest tests/unit/serve/test_installed.py

fresh: $(DEV)  ## seconds from an empty environment to the first labels, and what is installed on the way
	$(BIN)/python tools/fresh_install.py

size: $(DEV)  ## lines and statements per package; BASE=REV to compare with a revision
	$(BIN)/python tools/size.py $(if $(BASE),--base $(BASE))

fingerprint: $(DEV)  ## results on fixed seeds; BASE=REV compares results and speed with a revision, BITWISE=1 to the bit
	$(BIN)/python tools/fingerprint.py $(if $(BASE),--base $(BASE)) $(if $(BITWISE),--bitwise)

MINUTES ?= 30

fuzz: $(DEV)  ## generated graphs, labels, streams and files by time, with every index of a kernel checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/kernels-checked OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python tests/fuzz --minutes $(MINUTES)

load: $(DEV)  ## how fast the server is beside the least that could be done; 100 people for 10 minutes
	$(BIN)/python benchmarks/serve.py

docs: $(DEV)  ## every command in README and docs runs as printed
	$(BIN)/python -m pytest tests/unit/docs

tutorials: $(DEV)  ## runs the tutorials and writes what they print into their pages
	$(BIN)/python tools/tutorials.py

pictures: $(DEV)  ## the pictures of the method pages, and the figures of the measurements
	PYTHONPATH=tools/site $(BIN)/python tools/pictures.py
	PYTHONPATH=tools/site $(BIN)/python tools/result_figures.py

site: $(DEV)  ## the documentation as pages, in site/, without a network
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

picture: $(DEV)  ## which package imports which, for docs/architecture.md
	$(BIN)/python tools/architecture.py

screenshots: $(DEV)  ## the server's pages in Chromium, for docs/serve.md
	$(BIN)/python tools/serve_screenshots.py

results: $(DEV)  ## every table and figure of the papers by the full protocol, in docs/results; goes on where it stopped
	$(BIN)/querist reproduce --all --out docs/results

LOWEST := .venv-lowest
LOWEST_TESTS ?= -m "not slow" tests --ignore tests/unit/docs --ignore tests/unit/test_conventions.py

lowest:  ## the tests with the oldest versions that pyproject.toml allows, in an environment of their own
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable . --editable ./papers
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check pytest pytest-xdist hypothesis pexpect polars
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n auto --dist loadfile $(LOWEST_TESTS)

UV := $(BIN)/uv pip compile pyproject.toml --quiet --no-header --python-version 3.11
RUNNING := --extra download --extra report --extra serve --extra cluster --extra peers

locks: $(DEV)  ## requirements/: the oldest versions that are allowed, and those that development goes by
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(UV) $(RUNNING) --resolution lowest-direct --output-file requirements/lowest.txt
	$(UV) --universal --generate-hashes --extra dev --output-file requirements/dev.txt

clean:
	rm -rf $(VENV) $(LOWEST) querist-demo site

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Querist needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

PROJECTS := pyproject.toml papers/pyproject.toml

$(READY): $(VENV)/bin/python $(PROJECTS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[download,report]' --editable ./papers
	touch $@

$(DEV): $(VENV)/bin/python $(PROJECTS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]' --editable ./papers
	touch $@ $(READY)
