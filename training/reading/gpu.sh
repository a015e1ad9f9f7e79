#!/bin/bash
# Train two readers on one GPU, side by side, and score the mean of their weights; the best of the three goes to $WORK/out.
#   setsid bash training/reading/gpu.sh &      (inputs in training/build/slim; training/build/start: a reader to go on from)
# training/build/site: packages that the machine lacks (msgspec). LEARN: seconds of training. Only runs that go on from the same reader can be averaged.
set -u
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=4 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export PYTHONPATH=$PWD/src:$PWD:$PWD/training/build/site
work=${WORK:-/tmp/reading-work}
mkdir -p "$work/out"
runs="one two"
common="--inputs training/build/slim --work $work --seconds 5000"
[ -d training/build/start ] && common="$common --start training/build/start"
learn() {  # a name, then settings
  python3 -m training.reading.train $common --run "$@" rate=5e-4 drop=0.1 bare=0.4 public=0.4 looks=10 seconds=${LEARN:-1000} \
    2>&1 | sed -u "s/^/[$1] /" >> "$work/log.txt" &
}
learn one seed=11 batch=112 twice=1.0 unnamed=0.2 type=1.0
learn two seed=12 batch=112 twice=2.0 kind=2.0 pair=2.0 choice=2.0
wait
if [ -d training/build/start ]; then
  python3 -m training.reading.train $common --mean mean one two >> "$work/log.txt" 2>&1
  runs="$runs mean"
fi
python3 -m training.reading.export pack --work "$work" --to "$work/out" --runs $runs >> "$work/log.txt" 2>&1
cp "$work/log.txt" "$work/out"
touch "$work/finished"
