# Unrolled. `make` alone prints this help; `make book` and `make test` do everything.

VENV   := .venv
ifeq ($(OS),Windows_NT)
BIN    := $(VENV)/Scripts
PYTHON ?= python
else
BIN    := $(VENV)/bin
PYTHON ?= python3
endif
export PYTHONUTF8 := 1
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
BUILD  := $(BIN)/jupyter-book build . --toc book/_toc.yml -W -n --keep-going -q
CHAPTER ?=
RECIPE  ?=
N       ?=
NAME    ?=

.DEFAULT_GOAL := help
.PHONY: help book test check lint format execute chapter form serve lab bench recipes dist pdf clean

help: ## print this help
	@echo "Unrolled: sequence models from recurrence to attention"
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
	  while IFS='|' read -r name words; do printf '%-15s %s\n' "$$name" "$$words"; done

book: $(VENV)/book ## build the book and say where to open it
	@echo "Building the book ..."
	@$(BUILD) >_build.log 2>&1 || { cat _build.log; rm -f _build.log; exit 1; }
	@rm -f _build.log
	@echo "The book is built. Open it: file://$(CURDIR)/_build/html/index.html"
	@if [ "$(MAKECMDGOALS)" = book ]; then echo "or run 'make serve'."; fi

test: $(VENV)/dev ## run every test: lint, types, package, book, chapters, browser
	@$(BIN)/python tools/run_tests.py

check: $(VENV)/dev ## run the fast tests only, in two to three minutes
	@$(BIN)/python tools/run_tests.py --fast

lint: $(VENV)/dev ## check style and types
	@$(BIN)/python tools/run_tests.py --only lint --only types

format: $(VENV)/dev ## lay out all code, that of the chapters included
	@$(BIN)/ruff format -q code book tests tools
	@$(BIN)/python tools/chapters.py --format

execute: $(VENV)/book ## run the chapters that changed (CHAPTER=04: see if one still holds)
	@$(BIN)/python tools/chapters.py $(CHAPTER)

chapter: $(VENV)/book ## begin a chapter that the outline plans (N=07 NAME=lstm)
	@$(BIN)/python tools/new_chapter.py "$(N)" "$(NAME)"

form: $(VENV)/book ## measure the built chapters: words, code in sight, minutes
	@$(BIN)/python tools/form.py

serve: book ## build the book and serve it on this machine
	@echo "Serving on http://localhost:8000 (Ctrl-C stops it)"
	@$(BIN)/python -m http.server 8000 --bind 127.0.0.1 --directory _build/html

lab: $(VENV)/book ## open your own copies of the chapters in JupyterLab
	@$(BIN)/python tools/lab.py

bench: $(VENV)/dev ## measure speeds as ratios to the reference implementations
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=tools $(BIN)/python -m bench

recipes: $(VENV)/book ## re-make the long experiments (RECIPE=flip_flop for one)
	@names="$(RECIPE)"; [ -n "$$names" ] || names=$$($(BIN)/unrolled run --names) || exit 1; \
	  for name in $$names; do $(BIN)/unrolled run $$name || exit 1; done

dist: book ## pack the book, its PDF, the notebooks and the exercises in dist/
	@$(BIN)/python tools/dist.py
	@if command -v chromium >/dev/null; then $(MAKE) --no-print-directory pdf; \
	  else echo "NOT MADE: the PDF; install chromium, then say make pdf"; fi

pdf: book $(VENV)/dev ## print the whole book to dist/unrolled.pdf (needs Chromium)
	@PYTHONPATH=tools $(BIN)/python -m pdf
	@echo "Checking every page and link of it ..."
	@UNROLLED_PDF=dist/unrolled.pdf $(BIN)/python -m pytest -q -p no:cacheprovider \
	  tests/browser/test_pdf_book.py || \
	  { rm -f dist/unrolled.pdf; echo "It had faults: no PDF was made."; exit 1; }

clean: ## remove what was built; the environment and unfinished recipes stay
	rm -rf _build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# The environment. torch first and pinned: a later step would find a larger one.
$(VENV)/book: requirements.txt code/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed; say make PYTHON=python3.12"; exit 1; }
	@echo "Making the environment in $(VENV); this takes a few minutes, once."
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV) || \
	  { echo "Could not make $(VENV); on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo "1/2 PyTorch"
	@$(PIP) install $$(grep '^torch==' requirements.txt)
	@echo "2/2 everything else"
	@$(PIP) install -r requirements.txt
	@touch $@

$(VENV)/dev: $(VENV)/book requirements-dev.txt
	@echo "Installing what the tests need, once."
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || \
	  { echo "$(VENV) is broken: rm -rf $(VENV), then say make again"; exit 1; }
	@$(PIP) install -r requirements-dev.txt
	@touch $@
