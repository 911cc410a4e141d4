# make demo: set up and build the example reports and the site. make test: set up and run every check and test.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# a kernel that may not keep compiled modules recompiles pandas at every start
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check bench written lab clean

demo: $(READY)
	$(BIN)/gatebook build
	@echo
	@echo "Open _site/index.html, or a report: reports/*/*/index.html, with report.pdf beside it."

test: check
	$(BIN)/python -m pytest -q

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(READY)
	$(BIN)/python tests/benchmarks/bench_stats.py
	$(BIN)/python tests/benchmarks/bench_tails.py
	$(BIN)/python tests/benchmarks/bench_change.py
	$(BIN)/python tests/benchmarks/bench_paired.py
	$(BIN)/python tests/benchmarks/bench_readers.py
	$(BIN)/python tests/benchmarks/bench_command.py
	$(BIN)/python tests/benchmarks/bench_build.py
	$(BIN)/python tests/benchmarks/bench_pages.py

written: $(READY)
	$(BIN)/python -m tests.commands_page
	$(BIN)/python -m tests.studies.published

lab: $(READY)
	$(BIN)/jupyter lab notebooks

$(READY): pyproject.toml requirements.lock
	@set -e; for candidate in python3 python3.13 python3.12 python3.11; do \
	  if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then chosen=$$candidate; break; fi; \
	done; \
	if [ -z "$$chosen" ]; then echo "Python 3.11 or newer is needed, with venv" >&2; exit 1; fi; \
	$$chosen -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --compile -c requirements.lock -e '.[all,test]'
	@touch $@

clean:
	rm -rf $(VENV) reports _site
