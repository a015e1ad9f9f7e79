#!/bin/bash
# Train three readers on one GPU, side by side; the best goes to $WORK/out.
#   setsid bash training/reading/gpu.sh &      (inputs in training/build/slim; training/build/start: a reader to go on from)
# LEARN: seconds of training.
set -u
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=4 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export PYTHONPATH=$PWD/src:$PWD
inputs=training/build/slim work=${WORK:-/tmp/reading-work}
mkdir -p "$work/out"
start=""; [ -d training/build/start ] && start="--start training/build/start"
learn() {  # a name, then settings
  python3 -m training.reading.train --inputs $inputs --work "$work" --seconds 5000 $start --run "$@" 2>&1 |
    sed -u "s/^/[$1] /" >> "$work/log.txt" &
}
learn one seed=1 batch=128 rate=4e-4 looks=6 seconds=${LEARN:-900}
learn two seed=2 batch=128 rate=4e-4 looks=6 seconds=${LEARN:-900}
learn three seed=3 batch=192 rate=5e-4 looks=6 seconds=${LEARN:-900}
wait
python3 -m training.reading.export pack --work "$work" --to "$work/out" --runs one two three >> "$work/log.txt" 2>&1
cp "$work/log.txt" "$work/out"
touch "$work/finished"
