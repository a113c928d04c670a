# The only commands a newcomer needs. Each does its own set-up; the second time is quick.
#   make run     build the release binary and start the server, with the examples at work in it
#   make test    everything that must hold on every change (what CI runs)
#   make prove   what takes too long for every change: figures, storms, many seeds; report under target/prove
#   make bench   speed, beside the ceiling and the peers in the same run; results under target/bench
#   make lint    format, clippy, and cargo-deny where it is installed

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup tools run test prove bench lint fmt clippy binary

# nextest where there is one: a process per test, and a readable summary. Plain cargo test does as well.
NEXTEST := $(shell cargo nextest --version >/dev/null 2>&1 && echo yes)
ifeq ($(NEXTEST),yes)
TEST := cargo nextest run
# nextest leaves the examples in the documentation alone.
DOCTEST = cargo test --doc -p sprag-core -p sprag-engine
else
TEST := cargo test
endif

# Tests run a product that can be made to die at any call to its store. Releases hold no such thing.
FEATURES := --features sprag/failpoints

help:
	@sed -n '2,6p' Makefile

# A C compiler (for the bundled SQLite) and util-linux (for tests that unshare mounts) are all that is needed beside Rust.
setup:
	@command -v cargo >/dev/null || { echo "Rust is missing: install it with rustup, see CONTRIBUTING.md" >&2; exit 1; }
	@if ! command -v cc >/dev/null || ! command -v unshare >/dev/null; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && apt-get install -y -qq gcc libc6-dev util-linux >/dev/null; \
	  else echo "a C compiler and util-linux are missing: install gcc and util-linux" >&2; exit 1; fi; \
	fi

# What tests drive besides Rust: makes requests from the OpenAPI document. Without it that one test says `skipped`.
SCHEMATHESIS := 4.32.5
# A mail server, and the vendors' own API descriptions as servers: without them the tests of mail say `skipped`.
AIOSMTPD := 1.4.6
PRISM := 5.14.2
tools: target/tools/schemathesis/$(SCHEMATHESIS) target/tools/aiosmtpd/$(AIOSMTPD) target/tools/prism/$(PRISM)

target/tools/schemathesis/$(SCHEMATHESIS):
	@if ! python3 -c 'import ensurepip, venv' 2>/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && apt-get install -y -qq python3 python3-venv >/dev/null || true; \
	fi
	@if python3 -c 'import ensurepip, venv' 2>/dev/null; then \
	  rm -rf target/tools/schemathesis && python3 -m venv target/tools/schemathesis \
	    && target/tools/schemathesis/bin/pip install -q --disable-pip-version-check schemathesis==$(SCHEMATHESIS) \
	    && touch $@ || { rm -rf target/tools/schemathesis; echo "schemathesis cannot be installed: its test is skipped" >&2; }; \
	else echo "python3 with venv and pip is missing: the test with schemathesis is skipped" >&2; fi

target/tools/aiosmtpd/$(AIOSMTPD): | target/tools/schemathesis/$(SCHEMATHESIS)
	@if python3 -c 'import ensurepip, venv' 2>/dev/null; then \
	  rm -rf target/tools/aiosmtpd && python3 -m venv target/tools/aiosmtpd \
	    && target/tools/aiosmtpd/bin/pip install -q --disable-pip-version-check aiosmtpd==$(AIOSMTPD) cryptography \
	    && touch $@ || { rm -rf target/tools/aiosmtpd; echo "aiosmtpd cannot be installed: the tests with a mail server are skipped" >&2; }; \
	else echo "python3 with venv and pip is missing: the tests with a mail server are skipped" >&2; fi

target/tools/prism/$(PRISM):
	@if ! command -v npm >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && apt-get install -y -qq nodejs npm >/dev/null || true; \
	fi
	@if command -v npm >/dev/null; then \
	  rm -rf target/tools/prism && mkdir -p target/tools/prism \
	    && npm install --prefix target/tools/prism --ignore-scripts --no-fund --no-audit --loglevel=error \
	      @stoplight/prism-cli@$(PRISM) >/dev/null && touch $@ \
	    || { rm -rf target/tools/prism; echo "prism cannot be installed: the tests with the vendors' descriptions are skipped" >&2; }; \
	else echo "npm is missing: the tests with the vendors' descriptions are skipped" >&2; fi

run: setup
	cargo build --release -p sprag
	./target/release/sprag up --demo --store sqlite:./sprag.db

lint: fmt clippy
	@if cargo deny --version >/dev/null 2>&1; then cargo deny check bans licenses sources; \
	else echo "cargo-deny is not installed: skipped"; fi

fmt:
	cargo fmt --all -- --check

clippy:
	cargo clippy --workspace --all-targets $(FEATURES) -- -D warnings

binary:
	cargo build --workspace --bins $(FEATURES)

test: setup tools fmt clippy binary
	$(TEST) --workspace $(FEATURES)
	$(DOCTEST)

prove: setup
	bash tests/prove.sh

bench: setup
	bash bench/peers/install.sh
	cargo build --release -p sprag -p sprag-bench
	./target/release/sprag-bench all --json target/bench/results.json
