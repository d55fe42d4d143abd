#!/usr/bin/env bash
# One run over 1, 2 and 3 ranks of 1 and 2 threads each, under mpirun and under Slurm's srun: every file is compared with that of a run in
# one process. One is stopped on the way as well, and gone on with by another number of ranks.
#
#   tests/cluster/ranks.sh FOLKMOOT mpirun|srun… [-- CARD…]
#
# Without CARD, those of the list `ranks` in `scenarios/*/trials.json` are run. FOLKMOOT is built with the feature mpi. mpirun is Open MPI's;
# srun needs slurm-wlm, munge and the rights of root. A launcher that is not installed is passed over with a message.
# A card may have settings after it: "scaffold/small --dry-run".
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: $0 FOLKMOOT mpirun|srun… [-- CARD…]" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
PATH="$(cd "$(dirname "$1")" && pwd):$PATH"
export PATH
shift
launchers=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    launchers+=("$1")
    shift
done
[ $# -gt 0 ] && shift
cards=("$@")
[ $# -gt 0 ] || mapfile -t cards < <(python3 "$here/../trials.py" ranks)

scratch=$(mktemp -d)
pids=()
. "$here/slurm.sh"
trap clean_up EXIT
cd "$scratch"

# Ranks of threads that yield, so that more of them than cores do not wait for each other by spinning.
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
# Each takes seconds: what takes minutes waits for something that does not come.
declare -A launched_by=(
    [mpirun]="timeout 300 mpirun"
    [srun]="timeout 300 srun --quiet --mpi=pmix --overcommit --oversubscribe"
)

# The same command is in every manifest, and no other name.
same() {
    diff -r --exclude=timing.csv --exclude=figures alone "$1" || { echo "$2: differs" >&2; exit 1; }
    rm -rf "$1"
}

compare() {
    local launch=$1 card=$2 words by n_compared=0
    eval "words=($card)"
    read -ra by <<<"${launched_by[$launch]}"
    rm -rf alone
    folkmoot run "${words[@]}" --out alone --quiet --threads 1
    for ranks in 1 2 3; do
        for threads in 1 2; do
            "${by[@]}" -n $ranks folkmoot run "${words[@]}" --out ranks --quiet --threads $threads
            same ranks "$launch, $card, $ranks ranks of $threads threads"
            n_compared=$((n_compared + 1))
        done
    done
    echo "$launch, $card: $n_compared runs over ranks have the bytes of one process"
}

# Stopped by SIGTERM with three ranks, gone on with by two.
stopped() {
    local launch=$1 by card=(fed-avg/tiny --set strategy.protocol.rounds=4000)
    read -ra by <<<"${launched_by[$launch]}"
    rm -rf alone
    folkmoot run "${card[@]}" --out alone --quiet --threads 1
    # In the background itself, so that it is the launcher that is told.
    "${by[@]}" -n 3 folkmoot run "${card[@]}" --out ranks --quiet --threads 1 --checkpoint-every 0.1s 2>stopped.txt &
    local job=$!
    await ranks/checkpoint/state
    kill -TERM $job
    wait $job || true
    if [ -e ranks/summary.json ]; then
        echo "$launch: the run was over before it could be stopped" >&2
        return 1
    fi
    # The first rank may be at its end still, with the lock of the directory.
    for _ in $(seq 20); do
        if "${by[@]}" -n 2 folkmoot resume ranks --quiet --threads 1 2>resumed.txt; then
            same ranks "$launch, stopped and gone on with"
            echo "$launch: a run of three ranks was stopped and gone on with by two"
            return
        fi
        sleep 0.5
    done
    cat stopped.txt resumed.txt >&2
    return 1
}

for launch in "${launchers[@]}"; do
    case $launch in
        mpirun) command -v mpirun >/dev/null || { echo "mpirun: is not installed, nothing is compared"; continue; } ;;
        srun) start_slurm || continue ;;
        *)
            echo "no launcher is called $launch" >&2
            exit 2
            ;;
    esac
    for card in "${cards[@]}"; do compare "$launch" "$card"; done
    stopped "$launch"
done
