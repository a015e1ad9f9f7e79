#!/bin/bash
# Train readers on one GPU, three at a time, and write the best to $OUT. Stops by itself: SECONDS_LIMIT, default 530.
#   bash training/reading/gpu.sh        (inputs in training/build/reading)
set -u
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=5
inputs=${INPUTS:-training/build/reading} work=${WORK:-/tmp/reading-work} limit=${SECONDS_LIMIT:-530}
out=${OUT:?where results go}
each=$((limit - 50)) # of a worker: to load, to train, and to score for the last time
rm -rf "$work" && mkdir -p "$work" "$out"
run() { # the name of a worker, then its runs
  local name=$1; shift
  timeout $((limit - 30)) python3 -m training.reading.train --inputs "$inputs" --work "$work" --seconds "$each" "$@" 2>&1 |
    sed -u "s/^/[$name] /" | tee -a "$work/log.txt" &
}
run a --run main seed=1
run b --run slow seed=2 rate=1.5e-4 lower=0.95 drop=0.1
run c --run four seed=1 layers=0.2.3.5
wait
timeout 25 python3 -m training.reading.export pack --work "$work" --to "$out" 2>&1 | tee -a "$work/log.txt"
cp "$work/log.txt" "$out/log.txt"
ls -la "$out"
