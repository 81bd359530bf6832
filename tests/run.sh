#!/usr/bin/env bash
# Builds bulksim and runs its tests. On a fresh Debian machine it installs what it needs first.
#
#   bash tests/run.sh [--long] [CTEST OPTION...]      for instance -R journal, or -L mpi
set -euo pipefail
source "$(/usr/bin/dirname "$0")/../jobs/setup.sh"

selection=(--label-exclude '^long$')
if [[ ${1:-} == --long ]]; then
  selection=()
  shift
fi

install_packages "${build_packages[@]}" "${test_packages[@]}" --optional "${optional_test_packages[@]}"
build all -DBULKSIM_TESTS=ON

processors=$(nproc)
exec ctest --test-dir "$build_dir" --output-on-failure --no-tests=error \
  --parallel $((processors < 2 ? 2 : processors)) "${selection[@]}" "$@"
