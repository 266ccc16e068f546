# `make help` lists the targets.

PYTHON ?= python3
REQUIREMENTS ?= cpu
# Packages that only some need: cloud (AWS, Kubernetes), cluster (Dask), compare (UMAP, plotly), export (ONNX, safetensors),
# levels (pyribs), play (pygame): EXTRAS="compare levels"
EXTRAS ?=
VENV := .venv
BIN := $(VENV)/bin
SNAKEMAKE := $(BIN)/snakemake
CORE := results/native/libneurozoo_core.so
FOUNDATIONS := $(CORE) results/noise/table.f32

export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help setup demo test test-long test-cluster sanitize fuzz foundations golden browser lint format schema bench bench-page bench-learner docs lock image clean

help: ## list the targets (this list)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s%s\n", $$1, $$2}' Makefile

setup: $(VENV)/.$(REQUIREMENTS) $(EXTRAS:%=$(VENV)/.%) ## install the locked packages; build the core again if its sources have changed
	@$(RENEW_CORE)

# Builds the core again if its sources have changed, and nothing else (workflow/rules/native.smk says why).
RENEW_CORE = test ! -e $(CORE) || $(BIN)/python -m neurozoo check-core >/dev/null 2>&1 || { \
  echo "The core was built from other sources; building it again"; $(SNAKEMAKE) --profile profiles/local --quiet all --force -- $(CORE); }

# All packages are locked with hashes. Each start of Python reads neurozoo.pth: it gives accounts without a home one, which
# Snakemake needs before it reads anything of the project, and names workflow/lib. (setuptools' link to a library fails in
# folders with braces.)
$(VENV)/.%: envs/requirements-%.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || { \
	  echo "This is $$($(PYTHON) --version), but Python 3.11 to 3.14 is needed (there is no TensorFlow for later ones yet)." \
	    "Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@case "$$PWD" in *[[:space:]]*) echo "The path of this folder has a space, and Snakemake cannot start a Python below it. Move" \
	  "the project to a folder without one, and start again."; exit 1;; esac
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { \
	  echo "The virtual environment could not be created. On Debian and Ubuntu: apt install python3-venv"; rm -rf $(VENV); exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	@{ cat envs/neurozoo.pth && printf '%s\n' "$$PWD/workflow/lib"; } \
	  > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/neurozoo.pth"
	@touch $@

# The published genome comes first: its movie needs no compiler. Jobs have one thread, so that others run beside them, and
# compilers have a low priority.
demo: setup ## run config.yaml, from source to activation movies in some minutes, in a gallery that grows
	@echo "This takes three to eight minutes on two idle cores. The gallery opens after one or two, with a published agent."
	@$(BIN)/python -m neurozoo live $(SNAKEMAKE) --profile profiles/local \
	  --set-threads activation_movie=1 movie_grid=1 evaluate=1 \
	    build_native=$$($(BIN)/python -c 'from neurozoo.machine import cores; print(min(8, max(1, cores() - 1)))') \
	  --prioritize results/runs/imported/frostbite/large/1/activation.mp4
	@$(BIN)/python -m neurozoo show

foundations: $(VENV)/.dev ## make what tests need: the developers' packages, the core, the noise table
	@$(RENEW_CORE)
	@$(SNAKEMAKE) --profile profiles/local --quiet all -- $(FOUNDATIONS)

# Three at once on two cores: tests of schedulers and kills wait most of their time.
# With COMMIT, as in .ci/run, one minute of long tests besides: others for each commit.
test: foundations ## run the tests (12 minutes on two idle cores)
	@$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder --durations 20 \
	  $(if $(COMMIT),--draw-by $(COMMIT) -m "not long or drawn")

test-long: foundations ## run the long tests: sweeps over all games, networks and configurations
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --durations 20 -m long --ignore tests/cluster

# Needs root and Debian's packages of Grid Engine and Slurm, which .ci/run installs. Tests with accounting also need
# slurmdbd and mariadb-server, and are skipped without them. Takes half an hour, or two hours on a busy machine.
test-cluster: foundations ## make jobs fail on a real Grid Engine, Slurm and Dask (as root)
	@$(BIN)/python -m pytest tests/cluster -m "long or not long" -rP --durations=0

sanitize: foundations ## test the native code with sanitizers
	@$(BIN)/python -m pytest tests/native/test_sanitizers.py -m "long or not long"

# Minutes on an idle core. SEED=2 makes other damages; FUZZ_INPUTS=20000 is for a night.
SEED ?= 1
FUZZ_INPUTS ?= 1000
fuzz: $(VENV)/.dev ## give thousands of damaged files of every format to the code that reads it
	@$(BIN)/python tests/fuzz/fuzzer.py --inputs $(FUZZ_INPUTS) --seed $(SEED)

golden: foundations ## renew the hashes of the golden runs, after a change that is meant to change results
	@$(BIN)/python tests/workflow/golden.py build/golden

browser: $(VENV)/.dev ## compile the worlds that pages play to WebAssembly, after a change in native/ (needs Emscripten)
	@$(BIN)/python -m neurozoo.native.browser

lint: $(VENV)/.dev ## check style, imports and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy
	$(BIN)/snakefmt --check workflow
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files 'native/*.h' 'native/*.cc')
	$(SNAKEMAKE) --lint

schema: setup ## generate the JSON schema of config.yaml and docs/reference/ from the settings
	@$(BIN)/python -m neurozoo.plan.reference_pages

format: $(VENV)/.dev ## format Python, rules and C++
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt workflow
	$(BIN)/clang-format -i $$(git ls-files 'native/*.h' 'native/*.cc')

bench: foundations ## measure the speed of this machine
	@$(BIN)/python -m neurozoo bench

# PyTorch gets a virtual environment of its own, because nothing else needs it (docs/studies.md). PyPI's
# build brings CUDA (3 GB); TORCH="torch --index-url https://download.pytorch.org/whl/cpu" takes the small one.
TORCH ?= torch==2.13.0
TORCH_VENV := build/torch

# Takes about eight minutes. Let the machine do nothing else.
bench-page: foundations $(TORCH_VENV)/.done ## the same beside EnvPool and PyTorch, and write it into docs/benchmarks.md
	@$(BIN)/python -m neurozoo bench --torch $(TORCH_VENV)/bin/python --save docs/results/benchmark.json --write docs/benchmarks.md

ALGO ?= dqn
bench-learner: foundations $(TORCH_VENV)/.done ## compare a learner with a PyTorch loop (ALGO=dqn or impala)
	@$(BIN)/python -m neurozoo bench-learner --algo $(ALGO) --torch $(TORCH_VENV)/bin/python

$(TORCH_VENV)/.done:
	$(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_VENV)/bin/pip install --quiet --disable-pip-version-check $(TORCH)
	$(TORCH_VENV)/bin/pip install --quiet --disable-pip-version-check gymnasium==1.4.0 ale-py==0.12.1 envpool==1.2.5 opencv-python-headless
	@touch $@

# The site needs packages that nothing else needs, so they get an environment of their own.
DOCS_VENV := build/docs-venv
docs: $(DOCS_VENV)/.done ## make a site of docs/ in build/docs
	@NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict --quiet
	@echo "build/docs/index.html"

$(DOCS_VENV)/.done: envs/requirements-docs.txt
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# One resolution for all supported Python versions.
lock: ## resolve the packages of envs/*.in again (needs uv)
	cd envs && for name in dev cpu gpu cloud cluster compare export levels play docs; do \
	  UV_CUSTOM_COMPILE_COMMAND="make lock" uv pip compile --quiet --universal --python-version 3.11 \
	    --generate-hashes --no-annotate --override overrides.in requirements-$$name.in \
	    $$(test $$name = dev || echo --constraint requirements-dev.txt) --output-file requirements-$$name.txt; done

# DOCKER=podman or DOCKER="buildah" build the same. The core in the image must not be passed on (NOTICE).
DOCKER ?= docker
IMAGE ?= neurozoo
MARCH ?= portable
image: ## build a container image with the locked packages and the core, for your own registry (docs/containers.md)
	$(DOCKER) build --file envs/Dockerfile --tag $(IMAGE) --build-arg COMMIT=$$(git describe --always --dirty --abbrev=40 --exclude '*') \
	  --build-arg REQUIREMENTS=$(REQUIREMENTS) --build-arg MARCH=$(MARCH) \
	  $(if $(EXTRAS),--build-arg EXTRAS="$(EXTRAS)") $(if $(BASE),--build-arg BASE=$(BASE)) .

clean: ## delete environments and caches; results stay
	rm -rf $(VENV) build .snakemake .pytest_cache .ruff_cache results/native/build
