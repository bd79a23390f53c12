#!/bin/sh
# Tests the Python package with the native half that the build of all tests has made.
#
#   run-tests.sh [FLAGS OF PYTEST..]
#
# pytest, hypothesis, mypy and what the package works with come from PyPI, into a folder of
# target/python that stays. Package: python3-venv.
set -e
cd "$(dirname "$0")/../.."
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
sh xtask/all-tests.sh --no-run
folder=$target/python
packages="pytest hypothesis mypy numpy pandas polars pyarrow sqlalchemy<2.2 dbapi-compliance"
if [ "$(cat "$folder/venv/packages" 2>/dev/null)" != "$packages" ]; then
    python3 -m venv "$folder/venv"
    # shellcheck disable=SC2086
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check $packages
    echo "$packages" >"$folder/venv/packages"
fi
# The package as it is installed: its two halves in one folder.
rm -rf "$folder/package"
mkdir -p "$folder/package"
cp -r bindings/python/remanent "$folder/package/remanent"
cp "$target/debug/libremanent_python.so" "$folder/package/remanent/_remanent.abi3.so"
export PYTHONPATH="$folder/package" PYTHONDONTWRITEBYTECODE=1 MYPY_CACHE_DIR="$folder/mypy"
# Its types hold, and what is said of the native half is so.
"$folder/venv/bin/mypy" --config-file bindings/python/pyproject.toml -p remanent
"$folder/venv/bin/stubtest" --mypy-config-file bindings/python/pyproject.toml remanent._remanent
# Not beside the package's sources, which have no native half.
cd bindings/python/tests
"$folder/venv/bin/pytest" -q -p no:cacheprovider --doctest-modules \
    --pyargs remanent "$@"
exec "$folder/venv/bin/pytest" -q -p no:cacheprovider . "$@"
