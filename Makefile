# Two commands: `make serve` and `make test`. Each makes its own environment first; nothing else has to be installed.
# The first of these that runs: a name on PATH may be a shim without the version behind it.
PYTHON ?= $(shell for p in python3.11 python3.12 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' 2>/dev/null && echo $$p && break; done)
# Processes of the unit tests; each loads torch.
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: serve stop test check unit e2e clean

serve: $(READY)
	$(BIN)/jiyi up

stop: $(READY)
	$(BIN)/jiyi down

test: check unit e2e

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/pytest -m "not e2e" --numprocesses $(WORKERS) --dist loadfile

e2e: $(READY)
	$(BIN)/pytest -m e2e

$(READY): pyproject.toml constraints.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) build *.egg-info
