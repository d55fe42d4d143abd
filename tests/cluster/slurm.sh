# A Slurm of our own on this machine, for the scripts beside this one. They have a folder $scratch and the started programs in pids.

# Ends what is in pids, waits until it has ended (a controller that is told to end still writes its state), and takes $scratch away. What
# cannot be taken away is said and fails nobody: what was compared, was compared.
clean_up() {
    local pid
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    for _ in $(seq 10); do
        rm -rf "$scratch" 2>/dev/null && return
        sleep 0.5
    done
    echo "$scratch cannot be taken away" >&2
}

# Waits until a file that the pattern names is there.
await() {
    for _ in $(seq 1200); do
        compgen -G "$1" >/dev/null && return
        sleep 0.05
    done
    echo "$1 did not appear in a minute" >&2
    return 1
}

# A munge, a controller and a node in $scratch. False with a message where they are not installed or cannot be started.
start_slurm() {
    PATH="$PATH:/usr/sbin"
    local tool
    for tool in slurmctld slurmd sbatch srun munged; do
        command -v $tool >/dev/null || { echo "slurm: $tool is not installed, nothing is compared"; return 1; }
    done
    [ "$(id -u)" = 0 ] || { echo "slurm: needs root, nothing is compared"; return 1; }
    try_slurm || { echo "slurm: cannot be started on this machine, nothing is compared"; return 1; }
}

try_slurm() {
    mkdir -p state spool munge
    chmod 755 "$scratch"
    head -c 1024 /dev/urandom >munge/key
    chown -R munge: munge
    chmod 700 munge
    chmod 600 munge/key
    # Its socket lies where others may reach it.
    mkdir -p run && chown munge: run && chmod 755 run
    setpriv --reuid munge --regid munge --clear-groups munged --foreground --key-file="$scratch/munge/key" \
        --socket="$scratch/run/socket" --pid-file="$scratch/run/pid" --seed-file="$scratch/munge/seed" \
        --log-file="$scratch/munge/log" >munged.log 2>&1 &
    pids+=($!)
    await run/socket
    local host port
    host=$(hostname -s)
    port=$((20000 + $$ % 20000))
    cat >slurm.conf <<CONF
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/run/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/state/slurmctld.pid
SlurmdPidFile=$scratch/state/slurmd.pid
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
    export SLURM_CONF=$scratch/slurm.conf
    slurmctld -D >slurmctld.log 2>&1 &
    pids+=($!)
    slurmd -D >slurmd.log 2>&1 &
    pids+=($!)
    for _ in $(seq 100); do
        sinfo -h -o %T 2>/dev/null | grep -q idle && return
        sleep 0.2
    done
    tail ./*.log >&2
    return 1
}
