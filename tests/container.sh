#!/usr/bin/env bash
# The image of the Containerfile, built and asked for a run whose fingerprint is that of the program given.
#
#   tests/container.sh FOLKMOOT [--build-arg NAME=VALUE…]
#
# Takes podman, buildah or a docker that runs, and the images that it builds on; without them it passes over with a message.
set -euo pipefail

if [ $# = 0 ]; then
    echo "usage: $0 FOLKMOOT [--build-arg NAME=VALUE…]" >&2
    exit 2
fi
folkmoot=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
builder=
for tool in podman buildah docker; do
    if command -v $tool >/dev/null && $tool info >/dev/null 2>&1; then
        builder=$tool
        break
    fi
done
[ -n "$builder" ] || { echo "no podman, buildah or running docker is here: the Containerfile is not tried"; exit 0; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# The images may be out of reach, or be given.
images=()
for name in RUST BASE; do
    [[ " $* " == *" $name="* ]] || images+=("$(sed -n "s/^ARG $name=//p" Containerfile)")
done
for image in "${images[@]}"; do
    timeout 120 $builder pull "$image" >/dev/null 2>"$scratch/why" ||
        { echo "$image cannot be had ($(tail -n 1 "$scratch/why")): the Containerfile is not tried"; exit 0; }
done
case $builder in
    buildah) buildah build "$@" -f Containerfile -t folkmoot-test . ;;
    *) $builder build "$@" -f Containerfile -t folkmoot-test . ;;
esac
case $builder in
    buildah)
        container=$(buildah from folkmoot-test)
        buildah run -v "$scratch:/work" "$container" -- folkmoot run fed-avg/tiny --quiet --out inside
        ;;
    *) $builder run --rm -v "$scratch:/work" folkmoot-test run fed-avg/tiny --quiet --out inside ;;
esac
"$folkmoot" run fed-avg/tiny --quiet --out "$scratch/outside"
fingerprint() { grep result_fingerprint "$scratch/$1/manifest.json"; }
[ "$(fingerprint inside)" = "$(fingerprint outside)" ] || { echo "the image has another result" >&2; exit 1; }
echo "the image has the fingerprint of the program"
