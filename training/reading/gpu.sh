#!/bin/bash
# Train two teachers, let them label, then train three readers on labels and silver, on one GPU; results go to $WORK/out.
#   setsid bash training/reading/gpu.sh &      (inputs in training/build: slim, smol, start); TEACH, LEARN: seconds
set -u
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=4 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
inputs=training/build/slim smol=training/build/smol work=${WORK:-/tmp/reading-work}
mkdir -p "$work"
run() { # a name for the log, then a command
  local name=$1; shift
  "$@" 2>&1 | sed -u "s/^/[$name] /" >> "$work/log.txt" &
}
learn() { local name=$1; shift; run "$name" python3 -m training.reading.train --inputs $inputs --work "$work" --seconds 5000 "$@"; }
teacher="batch=128 rate=2e-4 lower=0.96 drop=0.1 masked=0.03 public=0.3 looks=2 seconds=${TEACH:-330}"
learn free --smol $smol --public 4000 --run free seed=1 ahead=0 $teacher
learn half --smol $smol --public 4000 --run half seed=2 ahead=15 $teacher
run label python3 -m training.reading.label --inputs $inputs --smol $smol --work "$work" --teachers free half --to "$work/silver.pkl"
reader="--start training/build/start --silver $work/silver.pkl"
learn one $reader --run one seed=1 batch=128 rate=3e-4 looks=4 seconds=${LEARN:-400}
learn two $reader --run two seed=2 batch=128 rate=3e-4 looks=4 seconds=${LEARN:-400}
learn three $reader --run three seed=3 batch=128 rate=4e-4 fresh=True looks=4 seconds=${LEARN:-400}
wait
python3 -m training.reading.train --inputs $inputs --work "$work" --start training/build/start --public 1 \
  --mean before --mean both one two --mean all one two three >> "$work/log.txt" 2>&1
mkdir -p "$work/out"
python3 -m training.reading.export pack --work "$work" --to "$work/out" --runs one two three both >> "$work/log.txt" 2>&1
cp "$work/log.txt" "$work/out"
touch "$work/finished"
