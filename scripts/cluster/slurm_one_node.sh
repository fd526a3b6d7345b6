#!/usr/bin/env bash
# Starts a Slurm of one node, for tests: runs a command under it, and ends it. Needs root and Debian's slurmctld, slurmd and slurm-client.
# usage: scripts/cluster/slurm_one_node.sh FOLDER COMMAND...
set -euo pipefail
folder=$1
shift
mkdir -p "$folder/state" "$folder/spool"
folder=$(cd "$folder" && pwd)
host=$(hostname -s)
port=$((20000 + $$ % 20000))
cat > "$folder/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=1000
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
CONF
export SLURM_CONF=$folder/slurm.conf
PATH=$PATH:/usr/sbin
slurmctld -D -f "$SLURM_CONF" > "$folder/slurmctld.log" 2>&1 &
controller=$!
slurmd -D -f "$SLURM_CONF" > "$folder/slurmd.log" 2>&1 &
daemon=$!
# a daemon that is told to end while it starts or ends jobs may not hear it
end() {
    scancel --user root > /dev/null 2>&1 || true
    kill "$daemon" "$controller" 2> /dev/null || true
    for _ in $(seq 50); do
        kill -0 "$daemon" 2> /dev/null || kill -0 "$controller" 2> /dev/null || break
        sleep 0.1
    done
    kill -KILL "$daemon" "$controller" 2> /dev/null || true
    wait 2> /dev/null || true
}
trap end EXIT
for _ in $(seq 100); do
    [ "$(sinfo --noheader --format %t 2>/dev/null)" = idle ] && break
    sleep 0.2
done
[ "$(sinfo --noheader --format %t 2>/dev/null)" = idle ] || { echo "slurm: the node does not come up:" >&2; tail -5 "$folder"/*.log >&2; exit 1; }
"$@"
