#!/bin/sh
# Builds, with the flag --no-run, or runs the tests of what stands on DataFusion: the packages of the
# step `sql` of `cargo xtask ci`. Always these together: each other choice of packages would need
# the crates below with other features, and build them anew.
exec cargo test --package remanent-join-order --package remanent-sql --package remanent-workers --package remanent-server \
    --package remanent-shell --package remanent-cli --package 'lab*' "$@"
