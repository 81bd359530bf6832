#!/usr/bin/env bash
# Builds bulksim and compares 300 real short texts with 5,000 others, on two ranks. On a fresh
# Debian machine it first installs the packages it needs.
#
#   bash jobs/quickstart.sh [OUT]      the result goes to build/quickstart unless OUT is given
set -euo pipefail
source "$(/usr/bin/dirname "$0")/setup.sh"
output=$(realpath -m "${1:-$build_dir/quickstart}")

install_packages "${build_packages[@]}"
build bulksim_program

export_mpi_environment
say "comparing the queries with the items, on two ranks"
mpirun -q -n 2 "$build_dir/bulksim" compute "$root/tests/data/titles_items.csr" \
  "$root/tests/data/titles_queries.csr" --output "$output" >/dev/null
"$build_dir/bulksim" show "$output"
cat <<TEXT

The matrix is the dataset /similarity of
  $output/CURRENT/similarity.h5

A row of it in Python (Debian: python3-h5py):
  import h5py
  with h5py.File("$output/CURRENT/similarity.h5") as file:
      row = file["similarity"][0]
      print("query 0 is most like item", row.argmax(), "with", row.max())
TEXT
