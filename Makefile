PYTHON ?= $(if $(VIRTUAL_ENV),python,.venv/bin/python)
SQUAD ?= ../shared/data/squad2_computational_complexity.json
.DEFAULT_GOAL := help
.PHONY: help setup format lint type test unit test-model notebook bench bench-index train stress stress-smoke audit test-browser test-postgres release check

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## make .venv with all that development needs
	python3 -m venv .venv && .venv/bin/pip install -q -r requirements-dev.txt

format: ## write the code as the formatter would
	$(PYTHON) -m ruff check --fix . && $(PYTHON) -m ruff format .

lint: ## what the linters say, of the layers too
	$(PYTHON) -m ruff check --no-cache . && $(PYTHON) -m ruff format --check .
	$(PYTHON:%python=%lint-imports)

type: ## what the type checker says
	$(PYTHON) -m mypy

test: ## the unit and integration tests, and one real question to the embedded model: about seven minutes
	$(PYTHON) -m pytest -n 2 --dist worksteal

test-model: ## the tests that run the embedded model
	$(PYTHON) -m pytest tests/model

test-postgres: ## the tests of the store in PostgreSQL, on a server that they start; without one they fail
	POSTGRES_REQUIRED=1 $(PYTHON) -m pytest -m postgres tests/integration

test-browser: ## the tests of the page in a Chromium, where there is one: about a minute
	$(PYTHON) -m pytest -n 2 tests/browser

unit: ## the unit tests alone
	$(PYTHON) -m pytest -n 2 --dist worksteal tests/unit

notebook: ## run the notebooks and keep their outputs, for readers on the web: about four minutes
	$(PYTHON:%python=%jupyter-execute) --inplace notebooks/self_rag.ipynb notebooks/agent.ipynb

bench: ## what a question costs, against plain retrieve-and-generate and peers: about half an hour
	$(PYTHON) -m benchmarks.overhead
	$(PYTHON) -m benchmarks.serving
	$(PYTHON) -m benchmarks.latency
	$(PYTHON) -m benchmarks.cost --peers
	$(PYTHON) -m benchmarks.injection --most 36

bench-index: ## what the index finds and how fast, up to a million passages: about half an hour
	$(PYTHON) -m benchmarks.index.ingestion
	$(PYTHON) -m benchmarks.index.recall
	$(PYTHON) -m benchmarks.index.scale
	$(PYTHON) -m benchmarks.workers

release: ## the wheel, what it brings with it (CycloneDX) and their licences, in build/release
	rm -rf build && $(PYTHON) -m pip wheel -q --no-deps --no-build-isolation -w build/release .
	sed -n 's/\[[a-z,]*\]//; /==/p' requirements.txt requirements-charts.txt requirements-postgres.txt requirements-otel.txt > build/release/constraints.txt
	$(PYTHON) -m venv build/env && build/env/bin/pip install -q -c build/release/constraints.txt build/release/*.whl
	$(PYTHON:%python=%cyclonedx-py) environment build/env -o build/release/sbom.json
	$(PYTHON:%python=%pip-licenses) --python build/env/bin/python -f markdown --output-file build/release/licences.md

train: ## fit the calibrations of models/*.json anew: an hour with the embedded model
	$(PYTHON) -m training.fit_critic $(SQUAD) --paragraphs 1-24 --most 160 --write
	$(PYTHON) -m training.fit_gate $(SQUAD) --paragraphs 1-24 --write

stress: ## break things on purpose, in full: faults, kills, bit flips, hostile input: about two hours
	WORLDS=2000 $(PYTHON) -m pytest tests/integration/graph/test_properties.py -o timeout=3600
	HARMS=250 $(PYTHON) -m pytest tests/integration/retrieval/test_damage.py -k anywhere -o timeout=3600
	$(PYTHON) -m tests.stress.faults
	$(PYTHON) -m tests.stress.graph_kills
	$(PYTHON) -m tests.stress.index_kills
	$(PYTHON) -m tests.stress.workers
	$(PYTHON) -m tests.stress.servers
	$(PYTHON) -m tests.stress.servers --servers 1 --kills 20 --questions 10
	$(PYTHON) -m tests.stress.hostile

stress-smoke: ## a little of each stress run, by fixed seeds: about three minutes
	$(PYTHON) -m tests.stress.faults --questions 80
	$(PYTHON) -m tests.stress.graph_kills --kills 4
	$(PYTHON) -m tests.stress.index_kills --kills 6
	$(PYTHON) -m tests.stress.workers --kills 6 --server-kills 1 --files 60
	$(PYTHON) -m tests.stress.servers --kills 2 --questions 6
	$(PYTHON) -m tests.stress.servers --servers 1 --kills 2 --questions 3
	$(PYTHON) -m tests.stress.hostile --attacks 1

audit: ## known vulnerabilities in what the requirements install, as PyPI knows them; fails if the package index has no such data
	$(PYTHON) -m pip_audit --strict --requirement requirements.txt

check: export POSTGRES_REQUIRED = 1
check: test lint type test-browser test-model stress-smoke ## all that CI runs
