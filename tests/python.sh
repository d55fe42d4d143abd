#!/usr/bin/env bash
# The Python package as pip installs it: a wheel, its tests with pandas and polars, its types, and its notebook.
#
#   tests/python.sh                        # as everybody builds it: a release build, minutes
#   tests/python.sh --workspace            # with the program of `cargo test --workspace`, which is there already
set -euo pipefail
cd "$(dirname "$0")/../sim/python"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! { python3 -m venv "$work/venv" &&
    "$work/venv/bin/pip" install -q --disable-pip-version-check 'maturin>=1.16,<2' cloudpickle ipykernel matplotlib mypy nbclient networkx numpy \
        pandas polars pyarrow pytest scipy tensorboard; }; then
    echo "the Python packages cannot be installed: the package sim/python is not tried" >&2
    exit 0
fi
unset FOLKMOOT_BIN FOLKMOOT_PYTHON PYTHONPATH
PATH="$work/venv/bin:$PATH"
build=(maturin build --locked --auditwheel skip --out "$work/wheels")
if [ $# = 0 ]; then
    "${build[@]}"
else
    # Built alone, half of the program's crates have other features than among the tests, and are compiled again.
    cat >"$work/cargo" <<SHIM
#!/usr/bin/env bash
[ "\$1" = rustc ] || exec cargo "\$@"
cargo test --locked --no-run --message-format json $* | grep '"executable":"[^"]*/debug/folkmoot"'
SHIM
    chmod +x "$work/cargo"
    CARGO="$work/cargo" "${build[@]}" --profile dev
fi
pip install -q --disable-pip-version-check --no-deps "$work"/wheels/folkmoot-*.whl
mypy
pytest -q -rs -p no:cacheprovider
