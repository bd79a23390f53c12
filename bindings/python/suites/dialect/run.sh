#!/bin/sh
# Runs the tests that SQLAlchemy has for every dialect, with the package that the tests have made.
#
#   run.sh [FLAGS OF PYTEST..]
#
# sqlalchemy and pytest come from PyPI, into a folder of target/python that stays. It takes some
# minutes. Run `sh bindings/python/run-tests.sh` before it: that leaves the package.
set -e
cd "$(dirname "$0")/../../../.."
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
folder=$target/python
if [ ! -x "$folder/dialect/bin/pytest" ]; then
    python3 -m venv "$folder/dialect"
    "$folder/dialect/bin/pip" install --quiet --disable-pip-version-check pytest "sqlalchemy>=2.1,<2.2"
fi
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
export PYTHONPATH="$folder/package" PYTHONDONTWRITEBYTECODE=1
cd bindings/python/suites/dialect
"$folder/dialect/bin/pytest" -q -p no:cacheprovider --dburi "remanent:///$data/database" "$@"
