#!/usr/bin/env bash
# Sweeps in shards under real schedulers on this machine: one shard is killed, what is missing is made, and what is merged is compared
# byte for byte with a sweep in one piece.
#
#   tests/cluster/shards.sh FOLKMOOT slurm|parallel|hq…
#
# Slurm needs the packages slurm-wlm and munge and the rights of root, GNU parallel the package parallel, HyperQueue the Python package
# hyperqueue. A scheduler that is not installed is passed over with a message.
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: $0 FOLKMOOT slurm|parallel|hq…" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
PATH="$(cd "$(dirname "$1")" && pwd):$PATH"
export PATH
shift

scratch=$(mktemp -d)
pids=()
. "$here/slurm.sh"
trap clean_up EXIT
cd "$scratch"

# Twelve points of a second or so each, four a shard, and a value that a shell must not touch. Whoever is killed is at its second point.
sweep=(folkmoot sweep fed-avg/tiny --set "strategy.protocol.rounds=${ROUNDS:-6000}" --set 'sweep.seeds=[1, 2, 3, 4]'
    --set 'question="whose? it is  mine"')
n_shards=3

folkmoot_job() { "${sweep[@]}" --out "$1" --job "$2" --shards $n_shards; }

# Kills our program that has a variable in its environment, so that it can do nothing about it.
kill_shard() {
    local process
    for process in /proc/[0-9]*; do
        if [ "$(readlink "$process/cwd")" = "$scratch" ] && [ "$(cat "$process/comm")" = folkmoot ] &&
            tr '\0' '\n' <"$process/environ" | grep -qx "$1"; then
            kill -KILL "${process#/proc/}"
            return
        fi
    done 2>/dev/null
    echo "no process has $1" >&2
    return 1
}

same_as_whole() {
    diff -r --exclude=timing.csv whole "$1"
    echo "$2: the same bytes as a sweep in one piece"
}

# What a killed shard leaves is refused by merge, made by --only-missing, and then merged.
mend() {
    if folkmoot merge "$1" --quiet 2>refused.txt; then
        echo "$2: merge took a sweep that lacks points" >&2
        return 1
    fi
    grep "points are missing" refused.txt
    "${sweep[@]}" --out "$1" --only-missing --quiet
    folkmoot merge "$1" --quiet
    same_as_whole "$1" "$2"
}

# Waits until Slurm has no job of ours.
drained() {
    while [ -n "$(squeue -h)" ]; do sleep 0.2; done
}

slurm() {
    start_slurm || return 0
    folkmoot_job slurm slurm >slurm.sh
    sbatch slurm.sh
    await 'slurm/points/0004-*'
    kill_shard SLURM_ARRAY_TASK_ID=2
    drained
    mend slurm "Slurm, one shard killed"
    # Told to end by Slurm, a shard ends in good order; submitted again, it makes what it lacks.
    folkmoot_job again slurm >again.sh
    local job
    job=$(sbatch --parsable again.sh)
    await 'again/points/0004-*'
    scancel --full --signal=TERM "${job}_2"
    drained
    grep "unfinished: . of 4 points are there" "slurm-${job}_2.out"
    sbatch --wait --array=2 again.sh
    folkmoot merge again --quiet
    same_as_whole again "Slurm, one shard ended and submitted again"
}

parallel_() {
    command -v parallel >/dev/null || { echo "parallel: is not installed, nothing is compared"; return; }
    folkmoot_job parallel parallel >parallel.sh
    setsid sh parallel.sh >/dev/null 2>&1 &
    local group=$!
    await 'parallel/points/0003-*'
    kill -KILL -- -$group
    wait $group || true
    mend parallel "GNU parallel, all killed"
    folkmoot_job afresh parallel >afresh.sh
    sh afresh.sh >/dev/null
    same_as_whole afresh "GNU parallel"
}

hq() {
    python3 -c 'import hyperqueue' 2>/dev/null || { echo "hq: hyperqueue is not installed, nothing is compared"; return; }
    folkmoot_job hq hq >hq.sh
    python3 "$here/hyperqueue_shards.py" hq.sh &
    local cluster=$!
    await 'hq/points/0004-*'
    kill_shard HQ_TASK_ID=2
    wait $cluster
    mend hq "HyperQueue, one shard killed"
}

"${sweep[@]}" --out whole --quiet
for scheduler in "$@"; do
    case $scheduler in
        slurm | hq) $scheduler ;;
        parallel) parallel_ ;;
        *)
            echo "no scheduler is called $scheduler" >&2
            exit 2
            ;;
    esac
done
