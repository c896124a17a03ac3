#!/bin/sh
# The quick checks before a commit: format, lints, unit tests, the tables of imports, the documents.
# cargo-deny, cargo-machete, typos and shellcheck run where they are installed.
set -eu
cd "$(dirname "$0")/.."
features="oscost/fault-injection,oscost-worker/fault-injection,$(scripts/features.sh)"

optional() {
    tool=$1
    shift
    if command -v "$tool" >/dev/null; then
        "$@"
    else
        echo "not checked: $tool is not installed"
    fi
}

cargo fmt --all --check
cargo clippy --profile test --locked --workspace --all-targets \
    --features "$features,oscost/live,oscost-worker/live" -- -D warnings
cargo test --locked --workspace --lib --features "$features"
cargo test --locked -p oscost --features "$features" --test rooms --test documents
# Nothing else compiles the fuzz targets; libFuzzer is C++.
optional c++ cargo check --quiet --locked --manifest-path fuzz/Cargo.toml
optional shellcheck shellcheck scripts/*.sh fuzz/run.sh docs/examples/*.sh .ci/run
# The advisories need a network: `cargo deny check advisories`.
optional cargo-deny cargo deny --locked check bans licenses sources
optional cargo-machete cargo machete
optional typos typos
