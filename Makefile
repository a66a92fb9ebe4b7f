# Two commands do all their own set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := runs/demo
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable
# One more than two processors: tests that time programs wait for one another meanwhile.
TEST_PROCESSES ?= 3
PYTEST = $(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-all lint bench clean requirements

# Hundreds of processes load the same modules: they are compiled once, when first loaded, whatever
# the environment says. So pip need not compile all that it installs.
demo test test-all bench: export PYTHONDONTWRITEBYTECODE =

demo: $(VENV)/.run
	$(BIN)/gi-cuda check targets/bwt_exact
	$(BIN)/gi-cuda evolve targets/bwt_exact --run $(RUN) --force --preset barracuda --population 100 --generations 20 --time 85
	$(BIN)/gi-cuda show $(RUN)
	$(BIN)/gi-cuda minimize $(RUN)
	$(BIN)/gi-cuda patch $(RUN) --force --output $(RUN)/bwt_exact.patch
	git apply --check --verbose $(RUN)/bwt_exact.patch
	$(BIN)/gi-cuda report $(RUN) --force --output $(RUN)/report.html

test: $(VENV)/.dev
	@# While a compiler is fetched, the source is looked at.
	$(MAKE) --no-print-directory --jobs 2 lint $(VENV)/.nvcc
	$(PYTEST) -m "not broad"

# The sweeps as well: random edits on every target, kills, cheats, each refusal with its remedy.
test-all: $(VENV)/.dev
	$(MAKE) --no-print-directory --jobs 2 lint $(VENV)/.nvcc
	$(PYTEST)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: $(VENV)/.run
	$(BIN)/python -m benchmarks.throughput
	$(BIN)/python -m benchmarks.grammar

clean:
	rm -rf $(VENV) runs build

requirements:
	@command -v $(PYTHON) >/dev/null || { echo "gi-cuda needs python3 (3.11 or later); Debian and Ubuntu: apt-get install python3 python3-venv"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "gi-cuda needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version). Name another: make PYTHON=python3.12 ..."; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "gi-cuda needs Python's venv; Debian and Ubuntu: apt-get install python3-venv"; exit 2; }
	@command -v "$${CXX:-c++}" >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || { echo "gi-cuda needs a C++17 compiler; Debian and Ubuntu: apt-get install g++"; exit 2; }

$(VENV)/.run: pyproject.toml | requirements
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) .
	@touch $@

$(VENV)/.dev: pyproject.toml | requirements
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) '.[dev]'
	@touch $@ $(VENV)/.run

# Where no CUDA compiler is installed, pip's; without any, what needs it is skipped and says so.
$(VENV)/.nvcc: pyproject.toml $(VENV)/.dev
	@$(BIN)/python -c 'from gi_cuda.backends.cuda import find_toolkit; find_toolkit()' 2>/dev/null \
		|| $(PIP_INSTALL) '.[nvcc]' \
		|| echo "nvcc cannot be installed: tests that compile CUDA or PTX are skipped"
	@touch $@
