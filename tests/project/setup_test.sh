#!/usr/bin/env bash
# Tests what jobs/setup.sh prints and does when something is missing. The commands it would call are
# functions here, so nothing is installed.
set -euo pipefail
setup=$(cd "$(dirname "$0")/../.." && pwd)/jobs/setup.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect CODE TEXT FUNCTION: FUNCTION, run after setup.sh was sourced, ends with CODE and prints TEXT.
expect() {
  local code=$1 text=$2 body=$3 said got=0
  said=$(
    set -euo pipefail
    source "$setup"
    build_dir=$work/build setup_log=$work/setup.log
    "$body" 2>&1
  ) || got=$?
  if [[ $got -ne $code || $said != *"$text"* ]]; then
    echo "$body: ended with $got (expected $code) and printed '$said' (expected '$text')" >&2
    failures=$((failures + 1))
  fi
}

all_packages_are_there_so_nothing_is_asked() {
  dpkg-query() { printf '%s installed\n' one two; }
  apt-get() { :; }
  sudo() { echo "sudo was asked"; }
  run_apt_get() { echo "apt-get was asked"; }
  said=$(install_packages one two --optional three)
  [[ -z $said ]] && echo quiet
}

no_sudo_names_the_packages() {
  dpkg-query() { echo "one installed"; }
  apt-get() { :; }
  id() { echo 1000; }
  sudo() { return 1; }
  install_packages one two </dev/null
}

no_network_says_why() {
  dpkg-query() { :; }
  id() { echo 0; }
  env() { echo "E: Unable to locate package one" && return 100; }
  install_packages one
}

another_system_is_left_to_the_configuration() {
  is_debian() { return 1; }
  cmake() { echo "CMake Error: could not find HDF5" && return 1; }
  mkdir -p "$build_dir"
  install_packages one
  build bulksim_program
}

a_failed_build_shows_the_error() {
  cmake() { [[ $1 == -S ]] || { echo "a.cpp:1: error: no such thing" && return 2; }; }
  mkdir -p "$build_dir"
  build bulksim_program
}

foreign_libraries_and_compilers_are_left_out() {
  CONDA_PREFIX=/opt/conda CPATH=/opt/conda/include CC=clang LD_LIBRARY_PATH=/opt/conda/lib:/usr/lib/nvidia
  export CONDA_PREFIX CPATH CC LD_LIBRARY_PATH CMAKE_PREFIX_PATH=/opt/conda PATH=/opt/conda/bin:$PATH
  clean_environment
  echo "${CONDA_PREFIX-}${CPATH-}${CC-}${CMAKE_PREFIX_PATH-}|$LD_LIBRARY_PATH|$PATH"
}

expect 0 'quiet' all_packages_are_there_so_nothing_is_asked
expect 77 'apt-get install --no-install-recommends two' no_sudo_names_the_packages
expect 69 'cannot be installed (E: Unable to locate package one); check the network' no_network_says_why
expect 78 'it needs the Debian packages g++ cmake' another_system_is_left_to_the_configuration
expect 70 'error: no such thing' a_failed_build_shows_the_error
expect 0 '|/usr/lib/nvidia|/usr/local/sbin:' foreign_libraries_and_compilers_are_left_out
[[ $failures -eq 0 ]]
