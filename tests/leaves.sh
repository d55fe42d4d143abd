#!/usr/bin/env bash
# Removes a crate of algorithms that can be deleted: its folder, its lines and its folder of scenarios. What is left must hold.
#
#   tests/leaves.sh types [LEAF …]     what is left type-checks with all tests (of each leaf, without a name)
#   tests/leaves.sh whole [LEAF …]     what is left is built and tested whole, after it has written its generated texts anew (of the
#                                      leaf that the commit's hash chooses, without a name)
#
# CARGO_TARGET_DIR, if set, is where it builds. The feature mpi is on where there is an MPI.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
# Every crate of algorithms but the shared ones.
mapfile -t leaves < <(sed -n 's/^ *\(.*\) = folkmoot_\1,$/\1/p' "$root/sim/cli/shipped.rs" | grep -vxE "rounds|classifiers" | sort)
features=()
command -v mpicc >/dev/null && features=(--features mpi)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Of one place for all leaves, so that what they share is built once.
export CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-$work/target}")

copy() {
    rm -rf "$work/tree" && mkdir "$work/tree"
    if git -C "$root" rev-parse --git-dir >/dev/null 2>&1; then
        (cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null | tar -c -T -) | tar -x -C "$work/tree"
    else
        tar -c -C "$root" --exclude=./target --exclude=./runs . | tar -x -C "$work/tree"
    fi
    cd "$work/tree"
}

remove() {
    rm -r "sim/algorithms/$1" "scenarios/$1"
    sed -i "/= folkmoot_$1,/d" sim/cli/shipped.rs
    sed -i "/^folkmoot-${1//_/-}[ .]/d" Cargo.toml
}

case ${1:-} in
types)
    shift
    [ $# -gt 0 ] || set -- "${leaves[@]}"
    for leaf in "$@"; do
        copy
        remove "$leaf"
        cargo check --quiet --workspace --all-targets "${features[@]}"
        echo "without $leaf: type-checks with all tests"
    done
    ;;
whole)
    shift
    [ $# -gt 0 ] || set -- "${leaves[$((0x$(git -C "$root" rev-parse HEAD | cut -c1-6) % ${#leaves[@]}))]}"
    for leaf in "$@"; do
        copy
        remove "$leaf"
        # Twice: a page may be of what another test has written.
        for _ in 1 2; do
            UPDATE_GOLDEN=1 cargo test --quiet --workspace "${features[@]}" --test tests -- book:: audit:: cli:: >/dev/null 2>&1 || true
        done
        cargo test --workspace "${features[@]}" --no-fail-fast
        "$CARGO_TARGET_DIR/debug/folkmoot" list | sed -n '/^cards (/,/^$/p' | sed 1,2d | awk 'NF {print $1}' | xargs "$CARGO_TARGET_DIR/debug/folkmoot" check
        echo "without $leaf: built and tested"
    done
    ;;
*)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
