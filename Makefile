# make demo   everything from source to activation movies (README.md)
# make test   all tests;  make test-cluster   jobs hurt in every way on a real Grid Engine and Slurm (as root), and Dask;  make sanitize, make lint, make format;  make bench, make bench-page, make bench-dqn;  make lock

PYTHON ?= python3
REQUIREMENTS ?= cpu
VENV := .venv
BIN := $(VENV)/bin
SNAKEMAKE := $(BIN)/snakemake
FOUNDATIONS := results/native/libneurozoo_ops.so results/noise/table.f32

export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help setup demo test test-cluster sanitize foundations lint format bench bench-page bench-dqn lock clean

help:
	@sed -n 's/^# //p' Makefile

setup: $(VENV)/.$(REQUIREMENTS)

# Everything is locked with hashes; the project itself is installed as a link to workflow/lib.
$(VENV)/.%: envs/requirements-%.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or later is needed, but $$($(PYTHON) --version) came. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { \
	  echo "A virtual environment could not be made. On Debian and Ubuntu: apt install python3-venv"; rm -rf $(VENV); exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup
	@$(SNAKEMAKE) --profile profiles/local
	@$(BIN)/python -m neurozoo show

foundations: $(VENV)/.dev
	@$(SNAKEMAKE) --profile profiles/local --quiet all -- $(FOUNDATIONS)

test: foundations
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --durations 20

# Needs root and Debian's packages of Grid Engine and Slurm (.ci/run installs them; slurmdbd and mariadb-server besides for
# tests with accounting, which are skipped otherwise); half an hour, or two where much else goes on.
test-cluster: foundations
	@$(BIN)/python -m pytest tests/cluster -m "long or not long" -rP --durations=0

sanitize: foundations
	@$(BIN)/python -m pytest tests/native/test_sanitizers.py -m "long or not long"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files 'native/*.h' 'native/*.cc')
	$(SNAKEMAKE) --lint

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow
	$(BIN)/clang-format -i $$(git ls-files 'native/*.h' 'native/*.cc')

bench: foundations
	@$(BIN)/python -m neurozoo bench

# Measures everything (about six minutes; let the machine do nothing else) and puts it into the documentation.
bench-page: foundations
	@$(BIN)/python -m neurozoo bench --save docs/results/benchmark.json --write docs/benchmarks.md

# Deep Q-learning beside a loop in PyTorch, which gets an environment of its own: nothing here needs it (docs/dqn.md). From
# PyPI it comes with CUDA, 3 GB; TORCH="torch --index-url https://download.pytorch.org/whl/cpu" takes the small one.
TORCH ?= torch==2.13.0
TORCH_VENV := build/torch
bench-dqn: foundations $(TORCH_VENV)/.done
	@$(BIN)/python -m neurozoo bench-dqn --torch $(TORCH_VENV)/bin/python

$(TORCH_VENV)/.done:
	$(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_VENV)/bin/pip install --quiet --disable-pip-version-check $(TORCH)
	$(TORCH_VENV)/bin/pip install --quiet --disable-pip-version-check gymnasium==1.4.0 ale-py==0.12.1 opencv-python-headless
	@touch $@

# Needs uv; one resolution for all supported Python versions.
lock:
	cd envs && for name in dev cpu gpu play; do \
	  UV_CUSTOM_COMPILE_COMMAND="make lock" uv pip compile --quiet --universal --python-version 3.11 \
	    --generate-hashes --no-annotate requirements-$$name.in \
	    $$(test $$name = dev || echo --constraint requirements-dev.txt) --output-file requirements-$$name.txt; done

clean:
	rm -rf $(VENV) build .snakemake .pytest_cache .ruff_cache results/native/build
