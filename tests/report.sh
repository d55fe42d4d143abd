#!/usr/bin/env bash
# Reports as a browser shows them: clicked, by day and by night, on a desk, on a phone and on paper. See tests/report.py.
#
#   tests/report.sh FOLKMOOT [SHOTS [DIR…]]
#
# Without DIR, small runs are made to report on, those of the list `pages` in `scenarios/*/trials.json` among them. Pictures of what is seen go into the folder SHOTS, if there is one. Where there is no
# Chromium, nothing is tried, and a message says so.
set -euo pipefail
folkmoot=$(realpath "$1")
shots=${2:+$(realpath -m "$2")}
shift $(($# < 2 ? $# : 2))
here=$(cd "$(dirname "$0")" && pwd)
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$chromium" ]; then
    echo "there is no Chromium: reports are not opened in a browser" >&2
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pages=()
page() {
    local name=$1
    shift
    "$folkmoot" report "$@" --out "$work/$name.html" >/dev/null
    pages+=("$work/$name.html")
}
if [ $# -gt 0 ]; then
    for dir in "$@"; do page "$(basename "$dir")" "$dir"; done
else
    cd "$work"
    "$folkmoot" run fed-avg/tiny --quiet --out tiny
    "$folkmoot" run fed-avg/tiny --quiet --seed 2 --set network.uplink.loss_prob=0.2 --out lossy
    "$folkmoot" sweep fed-avg/small --quiet --set strategy.protocol.rounds=4 --out small
    page tiny tiny
    page sweep small
    page two tiny lossy
    n=0
    while read -r row; do
        eval "words=($row)"
        "$folkmoot" run "${words[@]}" --quiet --dry-run --out "row-$n"
        page "row-$n" "row-$n"
        n=$((n + 1))
    done < <(python3 "$here/trials.py" pages)
fi
python3 "$here/report.py" "$chromium" "$shots" "${pages[@]}"
