#!/bin/sh
# Builds the program together with the packages of the step `sql` of `cargo xtask ci`, so that
# nothing is built anew, and runs all clients against it.
set -e
cd "$(dirname "$0")/../../../.."
target=${CARGO_TARGET_DIR:-target}
cargo test --no-run --package remanent-sql --package remanent-server --package remanent-shell \
    --package remanent-cli --package 'lab*'
exec sh crates/server/tests/clients/run.sh "$target/debug/remanent" "$target/clients"
