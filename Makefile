# make run   what a newcomer wants: the product with a living demo on 127.0.0.1:8000
# make test  everything that is tested: on SQLite, on PostgreSQL, in a browser
.DEFAULT_GOAL := help
.PHONY: help setup run test test-fast lint fmt bench mutants crash lock
.NOTPARALLEL:

python := .venv/bin/python
pytest := $(python) -m pytest
# TOOLS=no leaves out what only tests and linters need.
TOOLS ?= yes

help:
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: ## make .venv with the locked dependencies
	@.ci/setup $(if $(filter no,$(TOOLS)),runtime)

run: ## start everything on 127.0.0.1:8000: pages, API, sweeper, a living demo
	@$(MAKE) --no-print-directory setup TOOLS=no
	@exec $(python) manage.py up

test: setup ## the whole suite: SQLite, PostgreSQL, browser
	@.ci/test all

test-fast: setup ## the suite on SQLite, without the browser
	@.ci/test fast

lint: setup ## every linter, and nothing that changes a file
	@.ci/lint

fmt: setup ## put the code into shape
	@.venv/bin/ruff check --quiet --fix-only .
	@.venv/bin/ruff format --quiet .

bench: setup ## measure the hot writes and the queue against the leanest SQL
	@$(python) -m tests.benchmarks

mutants: setup ## remove each guard in turn; the suite must notice
	@$(python) -m tests.mutants

crash: setup ## kill -9 at every failpoint of every operation, on both engines
	@.ci/test crash

lock: ## compile the locks from pyproject.toml again
	@.ci/lock
