#!/bin/sh
# Runs all clients against the program that the step `tests` of `cargo xtask ci` has built.
set -e
cd "$(dirname "$0")/../../../.."
target=${CARGO_TARGET_DIR:-target}
sh xtask/all-tests.sh --no-run
exec sh crates/server/tests/clients/run.sh "$target/debug/remanent" "$target/clients"
