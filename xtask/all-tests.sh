#!/bin/sh
# Builds, with the flag --no-run, or runs tests as the step `tests` of `cargo xtask ci` does: with
# --test NAME those of one target. Always of the whole workspace: each other choice of packages would
# need foreign crates with other features, and build DataFusion and all that stands on it anew.
exec cargo test --workspace --features remanent-capi/replication "$@"
