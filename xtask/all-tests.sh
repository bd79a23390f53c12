#!/bin/sh
# Builds, with the flag --no-run, or runs tests as the step `tests` of `cargo xtask ci` does: with
# --test NAME those of one target. Always of the whole workspace: each other choice of packages would
# need foreign crates with other features, and build DataFusion and all that stands on it anew.
set -e
cd "$(dirname "$0")/.."
case " $* " in
*" --test "*) ;;
*)
    # The C library that programs of the tests link. A test that built it would choose packages of its
    # own.
    cargo build --workspace --lib --profile test --features remanent-capi/replication
    REMANENT_C_LIBRARY=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/debug/libremanent_c.a
    export REMANENT_C_LIBRARY
    ;;
esac
exec cargo test --workspace --features remanent-capi/replication "$@"
