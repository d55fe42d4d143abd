#!/usr/bin/env bash
# A wheel that runs on any Linux since glibc 2.17 (manylinux2014, x86-64), and its first run on a machine without Rust.
#
#   tests/wheel.sh [FOLDER]        # the wheel stays in FOLDER, if one is named
#
# Zig, from the wheel ziglang, links against that glibc. It is a release build: minutes.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wheels=$(realpath -m "${1:-$work/wheels}")

python3 -m venv "$work/build"
"$work/build/bin/pip" install -q --disable-pip-version-check 'maturin>=1.16,<2' ziglang
(cd "$root/sim/python" && PATH="$work/build/bin:$PATH" maturin build --release --locked --zig --compatibility manylinux2014 --out "$wheels")
wheel=$(ls -t "$wheels"/folkmoot-*-manylinux*_x86_64*.whl | head -1)

# Only what the wheel brings: no Rust, no folder of this repository.
python3 -m venv "$work/clean"
env -i HOME="$work" PATH=/usr/bin:/bin "$work/clean/bin/pip" install -q --disable-pip-version-check "$wheel" numpy cloudpickle
cd "$work"
clean() { env -i HOME="$work" PATH="$work/clean/bin:/usr/bin:/bin" "$@"; }
clean folkmoot --version
clean folkmoot run fed-avg/tiny --quiet
# Clients in worker processes, by an example of the package.
clean folkmoot run "$root/sim/python/examples/gallery/drift.ron" --quiet --out drift
echo "$(basename "$wheel"), $(stat -c %s "$wheel") bytes: installed and run"
