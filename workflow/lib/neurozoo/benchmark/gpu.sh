#!/bin/bash
# Learners on one GPU in nine minutes, on a machine without network that has Python 3.12 with JAX and PyTorch for CUDA.
#
#     bash workflow/lib/neurozoo/benchmark/gpu.sh pack              # here, after make foundations: what the machine needs, into build/gpu
#     OUT=folder bash workflow/lib/neurozoo/benchmark/gpu.sh        # there, with the checkout and build/gpu: gpu.json and the log of a run
#
# Each part prints what it has as soon as it has it: tests, rows of the table, then Pong until a test of 18. A rehearsal
# on a processor: THREADS=2 NUM_ENVS=16 SECONDS_OF_ROW=1 DEVICE=cpu FRAMES=4000.
set -u
cd "$(dirname "$0")/../../../.."
packed=build/gpu
if [ "${1:-}" = pack ]; then
  mkdir -p "$packed" && cp results/native/libneurozoo_core.so results/native/build.json "$packed"/
  for name in keras namex optree gymnasium farama-notifications ale-py pydantic pydantic-core annotated-types typing-inspection; do
    version=$(grep -oP "^$name==\K[^ ]+" envs/requirements-cpu.txt | head -1)
    python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \
      --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_17_x86_64 \
      --platform manylinux2014_x86_64 -d "$packed" "$name==$version" || exit
  done
  exit
fi
: "${OUT:=$packed/out}" "${THREADS:=$(nproc)}" "${NUM_ENVS:=512}" "${SECONDS_OF_ROW:=6}" "${DEVICE:=cuda}" "${FRAMES:=16000000}"
mkdir -p "$OUT"
[ "$DEVICE" = cpu ] || python3 -m pip install --quiet --no-index --no-deps --no-compile --target /tmp/gpu-site "$packed"/*.whl || exit
export PYTHONPATH=/tmp/gpu-site:$PWD/workflow/lib PYTHONUNBUFFERED=1 KERAS_BACKEND=jax
# Learners of one shape are compiled once.
export JAX_COMPILATION_CACHE_DIR=/tmp/gpu-cache JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0
core=$packed/libneurozoo_core.so
python3 -m pytest -q -p no:cacheprovider --noconftest tests/unit/algorithms/impala/test_device_rollouts.py -k "goes_on or learned" | tail -1
python3 -m neurozoo.benchmark.gpu --core $core --threads "$THREADS" --num-envs "$NUM_ENVS" --seconds "$SECONDS_OF_ROW" \
  --device "$DEVICE" --save "$OUT/gpu.json"
settings="engine=batched num_envs=$((NUM_ENVS / 2)) batch_size=8 unroll_length=16 shards=1 frames=$FRAMES num_test_episodes=10"
time python3 -m neurozoo train --algo impala --game pong --model nature_layer_norm --preset neurozoo_pqn \
  $(printf -- '--set %s ' $settings) --threads "$THREADS" --core $core --run-dir /tmp/gpu-pong
cp /tmp/gpu-pong/log.jsonl /tmp/gpu-pong/result.json "$OUT"/
