#!/usr/bin/env bash
# Checks the types of the program for Windows. Nothing is linked or run.
#
#   tests/windows.sh
#
# Zig, from the wheel ziglang, compiles what is C.
set -euo pipefail
cd "$(dirname "$0")/.."
target=x86_64-pc-windows-gnu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! rustup target add "$target" || ! python3 -m venv "$work/zig" ||
    ! "$work/zig/bin/pip" install -q --disable-pip-version-check ziglang; then
    echo "NOT RUN: the check for Windows needs rustup and the wheel ziglang" >&2
    exit
fi
# Zig has another name for the target.
cat > "$work/cc" <<EOF
#!/usr/bin/env bash
arguments=()
for argument in "\$@"; do [[ \$argument == --target=* ]] || arguments+=("\$argument"); done
exec "$work/zig/bin/python" -m ziglang cc -target x86_64-windows-gnu "\${arguments[@]}"
EOF
printf '#!/bin/sh\nexec "%s" -m ziglang ar "$@"\n' "$work/zig/bin/python" > "$work/ar"
chmod +x "$work/cc" "$work/ar"
CC_x86_64_pc_windows_gnu="$work/cc" AR_x86_64_pc_windows_gnu="$work/ar" cargo check --locked --target "$target"
echo "the types are right for $target"
