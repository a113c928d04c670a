#!/bin/sh
# Proposes to drain a database, to verify it, and to verify it again later. Prints the id of the workflow.
#   propose.sh USER@HOST:PORT DATABASE
set -eu
folder=$(dirname "$0")
plan=$(mktemp --suffix=.yaml)
trap 'rm -f "$plan"' EXIT
sed "s/SERVER/$1/; s/DATABASE/$2/" "$folder/plan.yaml" > "$plan"
"${SPRAG:-./target/quick/sprag}" workflow propose --file "$plan" --output json | grep -o 'wfl_[0-9a-z]*' | head -n 1
