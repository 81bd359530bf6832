#!/usr/bin/env bash
# Checks and measures the CUDA backend on this machine: correctness of every bit, compute-sanitizer on
# small sizes (if installed), then the table of rates. Takes at most 8 minutes.
#
#   bash tests/device/run.sh [OUT]     OUT (default: build/device) contains device_check, logs and bench.json
#
# An existing device_check in OUT is used unchanged; otherwise it is built, which needs nvcc, cmake, g++
# and xxhash.h.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-$here/../../build/device}
mkdir -p "$out"
out=$(cd "$out" && pwd)
check=$out/device_check

if [[ ! -x $check ]]; then
  PATH=$PATH:/usr/local/cuda/bin
  cmake -S "$here" -B "$out/cmake" >"$out/build.log"
  cmake --build "$out/cmake" --parallel --target device_check >>"$out/build.log"
  cp "$out/cmake/device_check" "$check"
fi

echo "== correctness"
timeout 120 "$check" check

sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [[ -x $sanitizer ]]; then
  for tool in memcheck racecheck; do
    echo "== compute-sanitizer $tool"
    timeout 100 "$sanitizer" --tool "$tool" --error-exitcode 1 "$check" bench small \
      >"$out/$tool.log" 2>&1 || { tail -n 40 "$out/$tool.log"; exit 1; }
    tail -n 1 "$out/$tool.log"
  done
else
  echo "== compute-sanitizer is not installed: skipped"
fi

echo "== rates"
timeout 150 "$check" bench >"$out/bench.json"
echo "JSON: $out/bench.json"
