#!/bin/sh
# Runs every workload, with few rows and once, with the program that the step `tests` of `cargo xtask
# ci` has built: answers are verified, and no time counts.
set -e
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
sh xtask/all-tests.sh --no-run
"$target/debug/lab" sensors readers long-reader sets ladder recovery burst memory \
    --quick --rows 2000 --rounds 1 --out "$target/lab-ci"
"$target/debug/lab-conflicts" --quick --server "$target/debug/remanent" --out "$target/lab-ci"
exec "$target/debug/lab" sensors --interface rust,c,mco,d --quick --rows 2000 --rounds 1 --out "$target/lab-ci"
