#!/bin/sh
# Fuzzes every target for some seconds: scripts/fuzz.sh [SECONDS]
set -eu
cd "$(dirname "$0")/.."
for target in fuzz/targets/*.rs; do
    fuzz/run.sh "$(basename "$target" .rs)" "${1:-30}"
done
