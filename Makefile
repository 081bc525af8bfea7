# The one list of commands. Each target sets up what it needs: Python >= 3.11, Rust, Java 17 and make suffice.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
BENCH_VENV ?= .venv-bench
JOBS   ?= 2
# One compiled profile for every test run; `release` only for wheels and benchmark numbers.
CARGO_TEST := cargo test --locked --profile ci --workspace --features siltstone-py/extension-module
PYTHON_SOURCES := $(shell find python -name '*.py') pyproject.toml
RUST_SOURCES := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.DEFAULT_GOAL := help
.PHONY: help setup dev demo test test-rust test-python stress check lint types fix bench wheel clean

help:
	@echo "make demo    run the main job on real flights: write, compact on Spark executors, check every row"
	@echo "make test    every test: Rust, Python, Spark, and real Java Paimon where its oracle is present"
	@echo "make stress  operations that meet each other: every interleaving, and minutes of eight processes (an hour)"
	@echo "make check   format, lint and types"
	@echo "make bench   measure against Java Paimon and pypaimon (minutes; release build)"
	@echo "make wheel   one stripped abi3 wheel in dist/"
	@echo "make fix     format and apply safe lint fixes"

$(VENV)/.tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group dev "pyarrow>=18" "click>=8.1" "rich>=13"
	@touch $@

setup: $(VENV)/.tools

$(VENV)/.built: $(VENV)/.tools $(RUST_SOURCES)
	$(BIN)/maturin develop --quiet --locked --profile ci
	@touch $@

dev: $(VENV)/.built

demo: dev
	$(BIN)/siltstone demo

test: test-rust test-python

test-rust:
	$(CARGO_TEST)

test-python: dev
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "not bench"

# One pair of operations: SILTSTONE_INTERLEAVING=keyed:Write:Expire; other schedules: SILTSTONE_STRESS_SEED=8.
stress: dev
	SILTSTONE_STRESS=1 $(BIN)/python -m pytest -s tests/property/test_company.py tests/property/test_commit_protocol_model.py
	$(CARGO_TEST) --test it interleavings -- --ignored --nocapture

check: lint types

lint: setup
	cargo fmt --all --check
	$(BIN)/ruff format --check python tests benches
	$(BIN)/ruff check python tests benches
	$(BIN)/taplo fmt --check Cargo.toml rust/*/Cargo.toml pyproject.toml clippy.toml rust-toolchain.toml rustfmt.toml
	$(BIN)/typos
	cargo clippy --locked --profile ci --workspace --all-targets --features siltstone-py/extension-module -- -D warnings

types: dev
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m mypy.stubtest siltstone._core

fix: setup
	cargo fmt --all
	$(BIN)/ruff format python tests benches
	$(BIN)/ruff check --fix python tests benches
	$(BIN)/taplo fmt Cargo.toml rust/*/Cargo.toml pyproject.toml clippy.toml rust-toolchain.toml rustfmt.toml

# What the suite compares with pins an old pyarrow, hence a virtual environment of its own.
$(BENCH_VENV)/.tools: benches/suite/requirements.txt
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(BENCH_VENV)/bin/python -m pip install --quiet "maturin>=1.16,<2" -r benches/suite/requirements.txt
	@touch $@

$(BENCH_VENV)/.built: $(BENCH_VENV)/.tools $(RUST_SOURCES) $(PYTHON_SOURCES)
	rm -rf target/bench/wheel
	$(BENCH_VENV)/bin/maturin build --quiet --locked --release --out target/bench/wheel
	$(BENCH_VENV)/bin/python -m pip install --quiet --force-reinstall --no-deps target/bench/wheel/*.whl
	$(BENCH_VENV)/bin/python -m pip install --quiet target/bench/wheel/*.whl
	@touch $@

bench: $(BENCH_VENV)/.built
	$(BENCH_VENV)/bin/python benches/python/import_time.py
	$(BENCH_VENV)/bin/python benches/python/planning.py
	$(BENCH_VENV)/bin/python benches/suite/run.py $(BENCH_ARGS)

wheel: setup
	$(BIN)/maturin build --locked --release --strip --out dist
	@ls -l dist

clean:
	rm -rf $(VENV) $(BENCH_VENV) target dist
