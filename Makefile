# `make serve` and `make test`; `make help` lists the rest. Each target makes its own environment first: nothing but
# make and Python has to be installed.
# The first of these that runs: a name on PATH may be a shim without the version behind it.
PYTHON ?= $(shell for p in python3.11 python3.12 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' 2>/dev/null && echo $$p && break; done)
# Processes of the unit tests; each loads torch.
WORKERS ?= 2
# What `make quick` tests: no networks, no stores on disk, no HTTP.
QUICK := tests/memory tests/jiyi tests/test_citations.py tests/test_documentation.py
# Adapters whose frameworks need other versions of packages than constraints.txt has.
APART := google_adk strands
# Requests of each operation that `make contract` makes up.
EXAMPLES ?= 500
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup serve stop test quick check lint types format unit e2e adapters contract audit advisories licences sbom typescript docs coverage clean

help: ## Lists the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Makes the environment with everything that tests and documentation need

serve: $(READY) ## Starts the service in the background and prints its URL; as root: make serve ACCOUNT=NAME
	$(BIN)/jiyi up $(if $(ACCOUNT),--user $(ACCOUNT))

stop: $(READY) ## Ends the service; all data is kept
	$(BIN)/jiyi down

test: lint audit unit adapters ## Everything: checks, unit tests, documentation, end-to-end tests on real Ray
	$(MAKE) --jobs 2 --output-sync=target types docs e2e  # services that start leave cores free

quick: check ## Checks and fast tests, in under a minute: before each commit
	$(BIN)/pytest -m "not e2e and not slow" --numprocesses $(WORKERS) --dist loadfile $(QUICK)

check: lint types audit ## Format, lint, types, import rules and known vulnerabilities

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/mypy

format: $(READY) ## Formats the code and sorts imports
	$(BIN)/ruff check --select I --fix .
	$(BIN)/ruff format .

unit: $(READY) ## All tests but the end-to-end ones
	$(BIN)/pytest -m "not e2e" --numprocesses $(WORKERS) --dist loadfile

e2e: $(READY) ## Tests that start the whole service
	$(BIN)/pytest -m e2e tests/e2e

adapters: $(APART:%=build/adapters/%/.ready) ## Tests the adapters whose frameworks need an environment of their own
	for name in $(APART); do build/adapters/$$name/bin/python -m pytest tests/jiyi/adapters/test_$$name.py || exit 1; done

# The framework with what it needs; everything else comes from our environment.
build/adapters/%/.ready: tests/jiyi/adapters/%.txt $(READY)
	$(BIN)/python -m venv build/adapters/$*
	build/adapters/$*/bin/pip install --quiet --requirement $<
	ours=$$($(BIN)/python -c "import site; print(site.getsitepackages()[0])"); \
	theirs=$$(build/adapters/$*/bin/python -c "import site; print(site.getsitepackages()[0])"); \
	echo "import site; site.addsitedir('$$ours')" > $$theirs/zz_jiyi.pth
	touch $@

docs: $(READY) ## Builds the documentation into build/site; a dead link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

contract: $(READY) ## Compares the HTTP surface with its OpenAPI document for minutes; `make unit` does so for one
	JIYI_CONTRACT_EXAMPLES=$(EXAMPLES) $(BIN)/pytest tests/deployments/http/test_contract.py

audit: $(READY) ## Compares every pin with the known vulnerabilities of dependencies/advisories.json; no network
	$(BIN)/python -m dependencies.audit

advisories: $(READY) ## Takes them anew: make advisories FROM=all.zip (docs/operations.md)
	$(BIN)/python -m dependencies.advisories "$(FROM)"

licences: $(READY) ## Writes docs/reference/licences.md
	$(BIN)/python -m dependencies.licences

typescript: $(READY) ## Generates the TypeScript client from the OpenAPI document and compiles it; needs Node 20 and npm
	mkdir -p build
	$(BIN)/jiyi openapi > build/openapi.json
	cd clients/typescript && npm ci --no-fund --no-audit && npm run generate -- ../../build/openapi.json && npm run build
	sha256sum < build/openapi.json > clients/typescript/schema.sha256

sbom: $(READY) ## Writes the bill of materials (CycloneDX) of this version into dist
	$(BIN)/python -m dependencies.sbom dist/jiyi.cdx.json

coverage: $(READY) ## Unit tests with coverage of the shipped packages
	$(BIN)/pytest -m "not e2e" --numprocesses $(WORKERS) --dist loadfile --cov --cov-report=term:skip-covered

$(READY): pyproject.toml constraints.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev,docs]"
	touch $(READY)

clean: ## Removes the environment and what was built
	rm -rf $(VENV) build dist *.egg-info
