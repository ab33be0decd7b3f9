.DEFAULT_GOAL := help
.PHONY: help install test nightly lint types check demo studio results answers reader router calls recipes bench campaigns fuzz-questions fuzz-server kill-ray kill-bucket page-checks screenshots clean
DATA ?= ../shared/data
REPLIES ?= ../shared/replies
SETS = factual_squad analytical_clapnq contextual_sharc opinion_perspectrum mixed_mtrag
# The public documents that the reader is trained on.
SOURCES ?= build/sources
# What the questions are made from and asked of: any folders of documents.
FOLDERS ?= adaptive_rag/samples/documents $(DATA)/documents
COUNT ?= 20000
# Also the tests that are left to the nightly run.
EVERY = -m "nightly or not nightly"
STRATEGIES = only-factual,only-analytical,only-opinion,only-contextual
PARTS = without-fusion,without-rerank,without-window,without-analysis,without-context,without-fan-out,without-enhance,without-diversify,without-balance,without-hedge
ARMS = standard,bm25,fusion,adaptive,oracle,random,costliest,$(STRATEGIES),$(PARTS),with-low-confidence

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 12

install: ## Install the package for development
	pip install -c constraints.txt -e '.[dev]'

test: ## Run the tests
	pytest

nightly: ## Run all tests, also those that try more of what others try a few of
	RAY_KILLS=all BUCKET_KILLS=all PAGE_CHECKS=all pytest $(EVERY)

lint: ## Check style and format
	ruff check . && ruff format --check .

types: ## Check types on an installed copy (the folder mapping hides an editable one)
	rm -rf .typecheck && pip install -q --no-deps --target .typecheck .
	MYPYPATH=.typecheck mypy -p adaptive_rag

check: lint types test ## All of the above

demo: ## Ask one question of each type over the samples
	adaptive-rag demo

studio: ## Open the graphs in LangGraph Studio
	LANGGRAPH_NO_VERSION_CHECK=1 LANGGRAPH_CLI_NO_ANALYTICS=1 langgraph dev

results: ## Measure the arms over the public data in DATA and write docs/results.md
	adaptive-rag eval $(addprefix $(DATA)/,$(SETS)) --arms $(ARMS) --fresh --out build/results --markdown docs/results.md

answers: ## Measure what a reader gets, and judge the answers to a hundred typed questions
	python -m benchmarks.answers $(DATA)
	python -m benchmarks.typed_questions --standard --markdown docs/answers.md
	python -m benchmarks.grounding $(REPLIES)/grounding.jsonl

reader: ## Train the reader, measure it and write it to build/reader (hours; the same command goes on)
	python -m training.reader.sources $(SOURCES)
	python -m training.reader.train build/reader --sources $(SOURCES) --epochs 2
	python -m training.reader.train_claims build/reader --sources $(SOURCES)
	python -m training.reader.export build/reader
	python -m training.reader.calibrate build/reader --sources $(SOURCES)
	python -m training.reader.export build/reader --calibration build/reader/calibration.json
	python -m benchmarks.reader --sources $(SOURCES) --reader onnx:build/reader/reader.onnx

router: ## Train the router and write it to build/router (a quarter of an hour on two cores)
	python -m training.router build/router --data $(DATA)

calls: ## Measure which of a chat model's calls pay, with recorded plans in REPLIES
	python -m benchmarks.calls $(addprefix $(DATA)/,$(SETS)) --replies $(REPLIES) --plot docs/calls.png

recipes: ## Measure the five recipes beside the default
	python -m benchmarks.recipes $(addprefix $(DATA)/,$(SETS)) --replies $(REPLIES) --plot docs/recipes.png

bench: ## Run the benchmarks that need no data (indexing, a warm question, chat latency)
	python -m benchmarks.indexing adaptive_rag/samples/documents
	python -m benchmarks.warm_question
	python -m benchmarks.latency

campaigns: ## Try to break it, as docs/reliability.md tells (about half an hour)
	python -m benchmarks.faulty_replies --deadline 2
	python -m benchmarks.bad_files
	python -m benchmarks.damage

fuzz-server: ## Send the server requests made from its OpenAPI document, a hundred for each operation
	FUZZ_EXAMPLES=100 pytest -n 0 $(EVERY) tests/server/test_fuzz.py

fuzz-questions: ## Ask 20,000 questions of every kind over folders of real documents (about half an hour)
	python -m benchmarks.fuzz_questions $(FOLDERS) --count $(COUNT)

kill-ray: ## Kill workers, nodes and runs of indexing by Ray at 20 moments (about ten minutes)
	RAY_KILLS=all pytest -n 0 $(EVERY) tests/index/test_ray.py -k killed

kill-bucket: ## Kill a writer to a bucket at 30 of its requests (about five minutes)
	BUCKET_KILLS=all pytest -n 0 $(EVERY) tests/index/test_bucket_kills.py

page-checks: ## Look at every state of the page in each language, theme and width, and keep the pictures
	PAGE_CHECKS=all PAGE_SCREENSHOTS=build/screenshots pytest $(EVERY) tests/page/test_screens.py

screenshots: ## Take the README's pictures of the page
	python -m benchmarks.page_pictures docs/images

clean: ## Remove what builds and runs leave behind
	rm -rf build dist *.egg-info .typecheck .mypy_cache .ruff_cache .pytest_cache
