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
# An EVM node: without it the tests of `blockchain_mint` say `skipped`.
ANVIL := 1.7.1
# An OAuth2 server: without it the tests of `api_call` in the real binary say `skipped`.
OIDC_PROVIDER := 9.13.3
tools: target/tools/schemathesis/$(SCHEMATHESIS) target/tools/anvil/$(ANVIL) target/tools/oauth/$(OIDC_PROVIDER)

target/tools/schemathesis/$(SCHEMATHESIS):
	@if ! python3 -c 'import ensurepip, venv' 2>/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && apt-get install -y -qq python3 python3-venv >/dev/null || true; \
	fi
	@if python3 -c 'import ensurepip, venv' 2>/dev/null; then \
	  rm -rf target/tools/schemathesis && python3 -m venv target/tools/schemathesis \
	    && target/tools/schemathesis/bin/pip install -q --disable-pip-version-check schemathesis==$(SCHEMATHESIS) \
	    && touch $@ || { rm -rf target/tools/schemathesis; echo "schemathesis cannot be installed: its test is skipped" >&2; }; \
	else echo "python3 with venv and pip is missing: the test with schemathesis is skipped" >&2; fi

target/tools/anvil/$(ANVIL):
	@if ! command -v npm >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && apt-get install -y -qq nodejs npm >/dev/null || true; \
	fi
	@if command -v npm >/dev/null; then \
	  rm -rf target/tools/anvil && mkdir -p target/tools/anvil \
	    && npm install --prefix target/tools/anvil --ignore-scripts --no-fund --no-audit --loglevel=error \
	      @foundry-rs/anvil@$(ANVIL) >/dev/null && touch $@ \
	    || { rm -rf target/tools/anvil; echo "anvil cannot be installed: the tests with an EVM node are skipped" >&2; }; \
	else echo "npm is missing: the tests with an EVM node are skipped" >&2; fi

target/tools/oauth/$(OIDC_PROVIDER):
	@if ! command -v npm >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && apt-get install -y -qq nodejs npm >/dev/null || true; \
	fi
	@if command -v npm >/dev/null; then \
	  rm -rf target/tools/oauth && mkdir -p target/tools/oauth \
	    && npm install --prefix target/tools/oauth --ignore-scripts --no-fund --no-audit --loglevel=error \
	      oidc-provider@$(OIDC_PROVIDER) >/dev/null && touch $@ \
	    || { rm -rf target/tools/oauth; echo "oidc-provider cannot be installed: the tests with an OAuth2 server are skipped" >&2; }; \
	else echo "npm is missing: the tests with an OAuth2 server are skipped" >&2; fi

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
