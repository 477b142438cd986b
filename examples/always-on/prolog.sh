#!/bin/sh
# A Slurm task prolog: what it prints as "export NAME=value" is set for the task. Each process of the task that uses
# CUDA writes a light trace; others leave nothing.
library=$(memtap lib) || exit 0
folder=/var/lib/memtap/${SLURM_JOB_ID:-none}
mkdir -p "$folder" || exit 0
find /var/lib/memtap -name "*.mtap*" -user "$(id -un)" -mtime +14 -delete 2>/dev/null
echo "export LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD}"
echo "export MEMTAP_LIGHT=1"
echo "export MEMTAP_QUIET=1"
echo "export MEMTAP_OUTPUT=$folder/%h-%r-%p.mtap"
