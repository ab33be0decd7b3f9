.DEFAULT_GOAL := help
.PHONY: help install test lint types check demo studio results bench clean

help: ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  \1\t\2/' | expand -t 12

install: ## Install the package for development
	pip install -c constraints.txt -e '.[dev]'

test: ## Run the tests
	pytest

lint: ## Check style and format
	ruff check . && ruff format --check .

types: ## Check types on an installed copy (the folder mapping hides an editable one)
	rm -rf .typecheck && pip install -q --no-deps --target .typecheck .
	MYPYPATH=.typecheck mypy -p adaptive_rag

check: lint types test ## All of the above

demo: ## Ask one question of each type over the samples
	adaptive-rag demo

studio: ## Open the graphs in LangGraph Studio
	langgraph dev

clean: ## Remove what builds and runs leave behind
	rm -rf build dist *.egg-info .typecheck .mypy_cache .ruff_cache .pytest_cache
