#!/usr/bin/env bash
# What takes too long for every change. Prints, and keeps a report under target/prove.
# Each part can be run alone: tests/prove.sh statecharts | simulator | crash | timers | sleeping | sleeping-postgres | closed |
#   dead | hostile | load | load-postgres | suite-postgres | cluster | agents | fuzz
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p target/prove
report="target/prove/report-$(git rev-parse --short HEAD 2>/dev/null || echo none).txt"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(statecharts simulator crash timers sleeping sleeping-postgres closed dead hostile load load-postgres suite-postgres cluster agents fuzz)

# The product as users get it: optimised. Test binaries follow the same profile, so they find it beside them.
test_release() { cargo test --release "$@"; }

statecharts() { SPRAG_PROVE_CASES=1000000 test_release -p sprag-core -- naive --nocapture; }
simulator() { SPRAG_SIM_SEEDS=200000 test_release -p sprag-sim -- --nocapture; }
crash() {
  cargo build --release -p sprag -p sprag-tests --bins
  SPRAG_PROVE=1 SPRAG_PROVE_KILLS=200 SPRAG_PROVE_EXECUTIONS=100000 test_release -p sprag-tests -- crash:: --nocapture
}
timers() {
  cargo build --release -p sprag -p sprag-tests --bins
  SPRAG_PROVE=1 test_release -p sprag-tests -- timers:: --nocapture --test-threads 1
}
sleeping() {
  cargo build --release -p sprag -p sprag-tests --bins
  SPRAG_PROVE=1 SPRAG_PROVE_SLEEPERS="${SPRAG_PROVE_SLEEPERS:-1000000}" test_release -p sprag-tests -- sleeping:: --nocapture
}
sleeping-postgres() { SPRAG_TEST_STORE=postgres sleeping; }
# Takes up to 16 GB of disk for a while, less where there is less.
closed() {
  cargo build --release -p sprag -p sprag-bench -p sprag-tests --bins
  SPRAG_PROVE=1 SPRAG_PROVE_CLOSED="${SPRAG_PROVE_CLOSED:-10000000}" test_release -p sprag-tests -- closed:: --nocapture
}
dead() {
  cargo build --release -p sprag -p sprag-tests --bins
  SPRAG_PROVE_LETTERS="${SPRAG_PROVE_LETTERS:-100000}" test_release -p sprag-tests -- dead:: --nocapture
}
# Arbitrary text in every field of every route, beside a client that must lose nothing.
hostile() {
  cargo build --release -p sprag -p sprag-tests --bins
  SPRAG_HOSTILE_CASES="${SPRAG_HOSTILE_CASES:-500}" test_release -p sprag-tests -- hostile::text:: --nocapture
}
# 200 clients for two minutes, beside readers of full pages.
load() {
  cargo build --release -p sprag -p sprag-tests --bins
  SPRAG_PROVE=1 test_release -p sprag-tests -- hostile::bounds::load --nocapture --test-threads 1
}
load-postgres() { SPRAG_TEST_STORE=postgres load; }
# All of the whole-product tests on PostgreSQL, of which `make test` runs those that lean on the store most. In one process, so that
# one cluster serves them all; the product as tests have it, which can be made to die at any call to its store.
suite-postgres() {
  cargo build --workspace --bins --features sprag/failpoints
  SPRAG_TEST_STORE=postgres cargo test --workspace --features sprag/failpoints --test suite -- --nocapture
}
# Three nodes on one PostgreSQL: kills, stops, cut connections, crashes of the database. About a quarter of an hour.
cluster() {
  cargo build --release -p sprag -p sprag-tests --bins
  SPRAG_PROVE=1 test_release -p sprag-tests -- cluster:: --nocapture --test-threads 1
}
# Agents and controllers: the times of the design at their full length, crowds, namespaces as hosts, and the figures of each test.
agents() {
  cargo build --release -p sprag -p sprag-tests --bins
  SPRAG_PROVE=1 test_release -p sprag-agent -- --nocapture --test-threads 1
  SPRAG_PROVE=1 test_release -p sprag-tests -- agents:: --nocapture --test-threads 1
}
# An hour of inputs that nobody would write, other ones every time: every parser, one after the other, and beside them every route.
fuzz() {
  cargo build --release -p sprag -p sprag-tests --bins
  local seconds="${SPRAG_FUZZ_SECONDS:-3600}"
  SPRAG_HOSTILE_SECONDS="$((seconds / 2))" test_release -p sprag-tests -- hostile::text::arbitrary --nocapture &
  SPRAG_FUZZ_SECONDS="$seconds" SPRAG_FUZZ_SEED="$RANDOM" \
    test_release -p sprag-tests --test fuzz -- --nocapture --test-threads 1
  wait "$!"
}

for part in "${parts[@]}"; do
  echo "== $part"
  "$part" 2>&1 | tee "target/prove/$part.log" | grep -E '^(test |test result|[a-z-]+: |[0-9]+ )' | tee -a "$report"
done
echo "report: $report"
