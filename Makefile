PYTHON ?= $(if $(VIRTUAL_ENV),python,.venv/bin/python)
.DEFAULT_GOAL := help
.PHONY: help setup format lint type test unit bench bench-index stress stress-smoke check

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## make .venv with all that development needs
	python3 -m venv .venv && .venv/bin/pip install -q -r requirements-dev.txt

format: ## write the code as the formatter would
	$(PYTHON) -m ruff check --fix . && $(PYTHON) -m ruff format .

lint: ## what the linter says
	$(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check .

type: ## what the type checker says
	$(PYTHON) -m mypy

test: ## all tests, those with the embedded model among them
	$(PYTHON) -m pytest

unit: ## the tests that load no language model
	$(PYTHON) -m pytest -m "not e2e"

bench: ## what a question costs, what faults and kills do, and which attacks succeed, measured here: about an hour
	$(PYTHON) -m benchmarks.overhead
	$(PYTHON) -m benchmarks.throughput
	$(PYTHON) -m benchmarks.latency
	$(PYTHON) -m benchmarks.cost --peers
	$(PYTHON) -m benchmarks.pictures
	$(PYTHON) -m tests.stress.critics
	$(PYTHON) -m tests.stress.faults
	$(PYTHON) -m tests.stress.graph_kills
	$(PYTHON) -m benchmarks.injection --raginject --most 36

bench-index: ## what the index does at a million passages, when killed and when harmed: about half an hour
	$(PYTHON) -m benchmarks.index.ingestion
	$(PYTHON) -m benchmarks.index.peers
	$(PYTHON) -m benchmarks.index.recall
	$(PYTHON) -m tests.stress.index_kills
	$(PYTHON) -m tests.stress.bit_flips
	$(PYTHON) -m benchmarks.index.scale

stress-smoke: ## a few hostile inputs of each kind: about a minute
	$(PYTHON) -m pytest tests/stress

stress: ## hostile inputs of every kind, drawn by a seed: about an hour
	$(PYTHON) -m tests.stress.hostile

check: lint type test ## all that CI runs
