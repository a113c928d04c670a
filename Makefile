# The only commands a newcomer needs. Each does its own set-up; the second time is quick.
#   make run     build the interface and the binary (quickly, see [profile.quick]) and start the server, with the examples at work
#   make test    everything that must hold on every change (what CI runs)
#   make prove   what takes too long for every change: figures, storms, many seeds; report under target/prove
#   make bench   speed, beside the ceiling and the peers in the same run; results under target/bench
#   make lint    format, clippy, and cargo-deny where it is installed
#   make openapi write the API's document to clients/openapi.json
#   make install build the release binary and put it into cargo's folder of programs

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup tools python node postgres faketime shells nginx chromium ui test-ui run install test prove bench lint fmt clippy binary openapi

# nextest where there is one: a process per test, and a readable summary. Plain cargo test does as well.
NEXTEST := $(shell cargo nextest --version >/dev/null 2>&1 && echo yes)
ifeq ($(NEXTEST),yes)
# Twice as many tests at once as processors: most wait for servers, timers and disks rather than compute.
TEST := cargo nextest run --test-threads $(shell echo $$((2 * $$(nproc))))
# nextest leaves the examples in the documentation alone. The same features as everywhere: nothing is compiled again.
DOCTEST = cargo test --doc --workspace $(FEATURES)
else
TEST := cargo test
endif

# Tests run a product that can be made to die at any call to its store. Releases hold no such thing.
FEATURES := --features sprag/failpoints

# Where Debian puts the server, and what of the whole-product tests runs on it once more: what leans on the store. The rest drives
# runners and other programs, or takes long; `make prove` runs all of it there. In one process, so that one cluster serves them.
POSTGRES := /usr/lib/postgresql/*/bin/postgres
ON_POSTGRES := canary:: crash:: dead:: failpoints:: hostile:: jobs:: life:: loads:: metrics:: once:: operations:: seed_defects:: streams:: timers:: webhook::

help:
	@sed -n '2,7p' Makefile

# A C compiler (for the bundled SQLite), util-linux (for tests that unshare mounts) and openssl (for certificates of tests) are all
# that is needed beside Rust.
setup:
	@command -v cargo >/dev/null || { echo "Rust is missing: install it with rustup, see CONTRIBUTING.md" >&2; exit 1; }
	@if ! command -v cc >/dev/null || ! command -v unshare >/dev/null || ! command -v openssl >/dev/null; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && apt-get install -y -qq gcc libc6-dev util-linux openssl >/dev/null; \
	  else echo "a C compiler, util-linux or openssl is missing: install gcc, util-linux and openssl" >&2; exit 1; fi; \
	fi

# What tests drive besides Rust: each in a folder of its own, at the version that its file is named after.
# What cannot be installed is said, and the tests that need it say `skipped`.
SCHEMATHESIS := target/tools/schemathesis/4.32.5
AIOSMTPD := target/tools/aiosmtpd/1.4.6
ANVIL := target/tools/anvil/1.7.1
OIDC_PROVIDER := target/tools/oauth/9.13.3
PRISM := target/tools/prism/5.14.2
TYPESCRIPT := target/tools/typescript/5.9.3
PROMETHEUS := target/tools/prometheus/0.26.0
OPENTELEMETRY := target/tools/opentelemetry/1.45.2
MCP_NODE := target/tools/mcp-node/1.32.2
MCP_PYTHON := target/tools/mcp-python/2.3.0
tools: $(SCHEMATHESIS) $(AIOSMTPD) $(PROMETHEUS) $(OPENTELEMETRY) $(ANVIL) $(OIDC_PROVIDER) $(PRISM) $(TYPESCRIPT) $(MCP_NODE) $(MCP_PYTHON) postgres faketime shells nginx

$(SCHEMATHESIS): | python ; $(call pip,schemathesis==$(@F))
$(AIOSMTPD): | python ; $(call pip,aiosmtpd==$(@F) cryptography)
$(PROMETHEUS): | python ; $(call pip,prometheus-client==$(@F))
$(OPENTELEMETRY): | python ; $(call pip,opentelemetry-proto==$(@F))
$(ANVIL): | node ; $(call npm,@foundry-rs/anvil@$(@F))
$(OIDC_PROVIDER): | node ; $(call npm,oidc-provider@$(@F))
$(PRISM): | node ; $(call npm,@stoplight/prism-cli@$(@F))
$(TYPESCRIPT): | node ; $(call npm,typescript@$(@F))
$(MCP_NODE): | node ; $(call npm,@modelcontextprotocol/sdk@$(@F))
$(MCP_PYTHON): | python ; $(call pip,mcp==$(@F))

# $(call fetch,COMMAND,NAMES): a fresh folder, the command in it, and the file that says it is done.
fetch = @rm -rf $(@D) && mkdir -p $(@D) && $(1) && touch $@ \
  || { rm -rf $(@D); echo "$(2) cannot be installed: the tests that need it are skipped" >&2; }
pip = $(call fetch,python3 -m venv $(@D) && $(@D)/bin/pip install -q --disable-pip-version-check $(1),$(1))
npm = $(call fetch,npm install --prefix $(@D) --ignore-scripts --no-fund --no-audit --loglevel=error $(1) >/dev/null,$(1))

python:
	@python3 -c 'import ensurepip, venv' 2>/dev/null || $(call apt,python3 python3-venv)
node:
	@command -v npm >/dev/null || $(call apt,nodejs npm)
# The server alone: tests make clusters of their own, so Debian's need not run.
postgres:
	@ls $(POSTGRES) >/dev/null 2>&1 || { $(call apt,postgresql); }
	@ls $(POSTGRES) >/dev/null 2>&1 \
	  || echo "PostgreSQL cannot be installed: the tests that need it are skipped" >&2
# Clocks that differ, for tests of several nodes.
FAKETIME := /usr/lib/*/faketime/libfaketimeMT.so.1
faketime:
	@ls $(FAKETIME) >/dev/null 2>&1 || { $(call apt,libfaketime); }
	@ls $(FAKETIME) >/dev/null 2>&1 \
	  || echo "libfaketime cannot be installed: nodes are tested with clocks that agree" >&2
# Shells whose completion is tested.
shells:
	@{ command -v zsh && command -v fish; } >/dev/null || { $(call apt,zsh fish); }
# A web server that the load example runs against.
nginx:
	@{ command -v nginx || ls /usr/sbin/nginx; } >/dev/null 2>&1 || $(call apt,nginx)
	@{ command -v nginx || ls /usr/sbin/nginx; } >/dev/null 2>&1 \
	  || echo "nginx cannot be installed: the test that needs it is skipped" >&2
# A browser that the web interface is tested in.
CHROMIUM := /usr/bin/chromium
chromium:
	@ls $(CHROMIUM) >/dev/null 2>&1 || $(call apt,chromium)
	@ls $(CHROMIUM) >/dev/null 2>&1 || echo "Chromium cannot be installed: the tests of the interface in a browser are skipped" >&2
apt = { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq $(1) >/dev/null; } || true

# The web interface, which is part of the binary. It is built when one of its files changed. Without Node, or without the way to
# its packages, the server works all the same, and says that the interface is missing.
UI_FILES := $(shell find ui -path ui/node_modules -prune -o -path ui/dist -prune -o -path ui/src/api/generated -prune -o -type f -print)
UI_PACKAGES := ui/node_modules/.package-lock.json
NODE_IS_NEW := node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null
ui: | node
	@if ! $(NODE_IS_NEW); then echo "the web interface is left out: it needs Node 20.19 or newer" >&2; \
	elif $(MAKE) -s $(UI_PACKAGES); then $(MAKE) -s ui/dist/index.html; \
	else echo "the web interface is left out: its packages cannot be installed" >&2; fi
$(UI_PACKAGES): ui/package-lock.json
	npm install --no-save --prefix ui --ignore-scripts --no-fund --no-audit --loglevel=error >/dev/null
ui/dist/index.html: $(UI_FILES) clients/openapi.json $(UI_PACKAGES)
	npm run -s --prefix ui build

# The interface: format and types, its logic, and all its pages in a browser, on the binary that the other tests use.
test-ui: ui binary chromium
	@if [ -f ui/dist/index.html ]; then \
	  npm run -s --prefix ui check && npm run -s --prefix ui test && npm run -s --prefix ui browser; \
	else echo "the web interface is not built: its tests are skipped" >&2; fi

run: setup ui
	cargo build --profile quick -p sprag
	./target/quick/sprag up --demo --store sqlite:./sprag.db

install: setup ui
	cargo install --path crates/cli --locked

lint: fmt clippy
	@if cargo deny --version >/dev/null 2>&1; then cargo deny check bans licenses sources; \
	else echo "cargo-deny is not installed: skipped"; fi

fmt:
	cargo fmt --all -- --check

clippy:
	cargo clippy --workspace --all-targets $(FEATURES) -- -D warnings

binary:
	cargo build --workspace --bins $(FEATURES)

test: setup tools fmt clippy binary test-ui
	$(TEST) --workspace $(FEATURES)
	if ls $(POSTGRES) >/dev/null 2>&1; then \
	  SPRAG_TEST_STORE=postgres cargo test --workspace $(FEATURES) --test suite -- $(ON_POSTGRES); fi
	$(DOCTEST)

# Writes the API's document where clients and generators find it, and the clients' types. `make test` fails while they are
# not current.
openapi:
	SPRAG_PUBLISH_OPENAPI=1 cargo test -p sprag-server --lib the_published_document_is_current
	python3 clients/generate.py

prove: setup
	bash tests/prove.sh

bench: setup
	bash bench/peers/install.sh
	cargo build --release -p sprag -p sprag-bench
	./target/release/sprag-bench all --json target/bench/results.json
