#!/bin/sh
# The Python package beside lmdb, sqlite3, duckdb and a dict; `run.sh --help` has the flags.
#
# The package is the wheel that `cargo xtask package wheel` makes; the others come from PyPI, into a
# folder of target/lab-python that stays.
set -e
cd "$(dirname "$0")/../.."
case " $* " in
*" --help "*) exec python3 -B lab/python/run.py --help ;;
esac
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
cargo xtask package wheel
folder=$target/lab-python
if [ ! -x "$folder/bin/python" ]; then
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check lmdb duckdb numpy pandas pyarrow
fi
"$folder/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps \
    "$target"/package/wheels/*.whl
exec "$folder/bin/python" -B lab/python/run.py "$@"
