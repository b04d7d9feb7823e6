#!/usr/bin/env bash
# All checks, in the order in which they fail fastest. One profile (dev), so that little is built twice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null

run() {
    printf '\n== %s\n' "$*"
    "$@"
}

run cargo fmt --all --check
run cargo clippy --workspace --all-targets --locked -- -D warnings
# Unit, property and transcript tests, doc tests; builds the examples.
run cargo test --workspace --locked
RUSTDOCFLAGS="-D warnings" run cargo doc --workspace --no-deps --locked
printf '\n== all checks passed\n'
