# Everything a person does with this repository. `make help` lists it.
# Needs Python >= 3.11 (with venv) and Go >= 1.26; nothing else has to be installed by hand.
SHELL := /bin/bash
# Without this, `lint-imports | tail` passes whatever lint-imports finds.
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
FUZZ_STAMP := $(VENV)/.fuzzer-installed
FUZZ_SECONDS ?= 600
FUZZ_LENGTH = $(if $(FUZZ_EXECUTIONS),--executions $(FUZZ_EXECUTIONS),--seconds $(FUZZ_SECONDS))
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: help demo test test-long lint unit certify mutants integration e2e bench terminal fuzz images generate format lock up down clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(STAMP): requirements-dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) -V). Set PYTHON=/path/to/python3.11."; exit 1; }
	@echo "Setting up $(VENV) (once, about 30 s)" >&2
	@$(PYTHON) -m venv $(VENV) || { echo "error: no venv module. On Debian: apt-get install python3-venv"; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

demo: $(STAMP) ## a real cluster with our webhook and controller, and samples going through (ONCE=1: exit after them)
	@exec $(BIN)/python -m localcluster.demo $(if $(filter 1,$(ONCE)),--once)

terminal: $(STAMP) ## record the demo again and draw the README's picture of it
	@exec $(BIN)/python -m scripts.terminal_svg

test: $(STAMP) ## lint, unit and integration tests, and the core of e2e; reports what each part took, and what it leaves out
	@exec $(BIN)/python -m scripts.run_tests test

test-long: $(STAMP) ## all that is too long for make test: the rest of e2e, the local cluster's own tests, the benchmark, whole set-ups
	@exec $(BIN)/python -m scripts.run_tests test-long

lint: $(STAMP) ## ruff, mypy, import contracts, our own rules, plain English (seconds)
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet . && $(BIN)/mypy --no-error-summary \
	  && $(BIN)/lint-imports --no-cache | tail -1 \
	  && $(BIN)/python -m scripts.lint_rules

unit: $(STAMP) ## unit tests: no cluster, no network, no sleep (seconds)
	@exec $(BIN)/pytest -q tests/unit

mutants: $(STAMP) ## plausible faults of the product, each of which a test must notice (ONLY=name or file, with * and ?)
	@exec $(BIN)/python -m scripts.mutants $(if $(ONLY),--only '$(ONLY)')

simulate: $(STAMP) ## random worlds in virtual time: the controller's lives with faults (SEEDS=n; each is four lives)
	@exec $(BIN)/python -m tests.simulation $(SEEDS)

certify: $(STAMP) ## exhaust a small world: each fault, pairs of faults, and the pure machine; at most 15 minutes on two cores
	@exec $(BIN)/python -m tests.simulation.certify

integration: $(STAMP) ## integration tests, side by side on real control planes
	@exec $(BIN)/python -m scripts.run_tests integration

e2e: $(STAMP) ## all tests on a real node, with our images; needs root (INSTALL=0: install no Debian packages)
	@exec $(BIN)/python -m scripts.run_tests e2e

bench: $(STAMP) ## figures side by side with the Go operator, in one run (QUICK=1: some of them, in three minutes)
	@exec $(BIN)/python -m bench $(if $(filter 1,$(QUICK)),--quick)

$(FUZZ_STAMP): $(STAMP) requirements-fuzz.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-fuzz.lock || \
	  { echo "error: the fuzzer has wheels for Linux on x86-64 only; the unit tests replay its corpus anywhere"; exit 1; }
	@touch $@

fuzz: $(FUZZ_STAMP) ## coverage-guided fuzzing of the webhook for ten minutes (FUZZ_SECONDS=n or FUZZ_EXECUTIONS=n)
	@exec $(BIN)/python -m tests.fuzz run $(FUZZ_LENGTH)

images: $(STAMP) ## build both images (TOOL=buildah|docker|podman BASE_IMAGE=… REGISTRY=HOST/PATH PUSH=1 TLS_VERIFY=0)
	@exec $(BIN)/python -m localcluster.images $(if $(TOOL),--tool $(TOOL)) $(if $(BASE_IMAGE),--base-image $(BASE_IMAGE)) \
	  $(if $(REGISTRY),--registry $(REGISTRY)) $(if $(filter 1,$(PUSH)),--push) $(if $(filter 0,$(TLS_VERIFY)),--no-tls-verify)

generate: $(STAMP) ## write again what is generated from code
	@$(BIN)/python -m scripts.generate && exec $(BIN)/python -m tests.support.explain_captures

format: $(STAMP) ## format the code
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

COMPILE := uv pip compile --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --quiet

# requirements-dev.lock holds everything; the others hold parts of it, in the same versions.
lock: ## resolve the dependencies again into the hashed lock files (needs uv; KEEP=1: only what is new)
	@$(COMPILE) pyproject.toml --group dev $(if $(KEEP),,--upgrade) --output-file requirements-dev.lock
	@for binary in webhook controller; do \
	  $(COMPILE) --group $$binary --upgrade --constraint requirements-dev.lock \
	    --output-file requirements-$$binary.lock || exit; done
	@$(COMPILE) pyproject.toml --group webhook --group controller --upgrade \
	  --constraint requirements-dev.lock --output-file requirements.lock
	@$(COMPILE) --group fuzz $(if $(KEEP),,--upgrade) --output-file requirements-fuzz.lock

up: $(STAMP) ## start a cluster to play with, detached; prints its KUBECONFIG (WITH=a,b: further components; REAL_NODE=1: and a real node)
	@exec $(BIN)/python -m localcluster up $(if $(WITH),--with $(WITH)) $(if $(filter 1,$(REAL_NODE)),--real-node)

down: $(STAMP) ## stop it
	@exec $(BIN)/python -m localcluster down

clean: ## remove the virtual environment and caches of this checkout (not the built binaries)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
