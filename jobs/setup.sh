# Sourced by jobs/quickstart.sh and tests/run.sh: installs what a build needs, configures and builds
# into build/. All output goes to stderr; a step that fails prints one sentence and ends the script
# (69 packages not available, 70 build, 77 permission, 78 system).

build_packages=(g++ cmake ninja-build libopenmpi-dev openmpi-bin libhdf5-dev
  libboost-program-options-dev libxxhash-dev libhwy-dev nlohmann-json3-dev
  libisal-dev libsimdjson-dev zlib1g-dev)
test_packages=(libgtest-dev libgmock-dev libboost-context-dev
  python3-h5py python3-numpy python3-scipy munge slurmctld slurmd slurm-client strace
  clang libclang-rt-dev)
optional_test_packages=(clang-format-14 clang-tidy-22)  # not in every release; without them the checks are skipped

say() { echo "$*" >&2; }

fail() {
  local code=$1
  shift
  say "$*"
  exit "$code"
}

# Removes all variables from the environment except a few. Otherwise an active conda environment, a
# virtual environment or a loaded module would add its compilers, headers, libraries and CMake
# packages to the build.
clean_environment() {
  local nvcc='' entries=() libraries=() entry name
  nvcc=$(type -P nvcc || true)
  [[ -n ${CONDA_PREFIX:-} && $nvcc == "$CONDA_PREFIX"/* ]] && nvcc=''
  IFS=: read -ra entries <<<"${LD_LIBRARY_PATH:-}"
  for entry in "${entries[@]}"; do  # containers add the folder of the GPU driver this way
    [[ $entry == /usr/*nvidia* || $entry == /usr/*cuda* ]] && libraries+=("$entry")
  done
  while read -r name; do
    case $name in
      HOME | USER | LOGNAME | TERM | LANG | LC_ALL | TMPDIR | CI | NO_COLOR) ;;
      CUDA_VISIBLE_DEVICES | CCACHE_DIR | *BLAS_* | *_proxy | *_PROXY) ;;
      *) unset "$name" 2>/dev/null || true ;;
    esac
  done < <(compgen -e)
  export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  [[ -z $nvcc ]] || PATH+=:${nvcc%/*}
  [[ ! -x /usr/local/cuda/bin/nvcc ]] || PATH+=:/usr/local/cuda/bin
  [[ ${#libraries[@]} -eq 0 ]] || export LD_LIBRARY_PATH=$(IFS=: && echo "${libraries[*]}")
}

# Settings that mpirun needs in a container, as root, or with fewer cores than ranks.
export_mpi_environment() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
  export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
}

is_debian() { type dpkg-query apt-get >/dev/null 2>&1; }

missing_packages() {
  local installed name
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for name in "$@"; do
    grep -qFx "$name installed" <<<"$installed" || echo "$name"
  done
}

# sudo may ask for a password when there is a terminal.
can_be_root() {
  [[ $(id -u) -eq 0 ]] || sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo true; }
}

as_root() {
  if [[ $(id -u) -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

run_apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null >>"$setup_log" 2>&1
}

# Another process may have locked the lists, as on a machine that has just started.
update_package_lists() {
  local attempt
  for attempt in 1 2 3 4 5 6; do
    : >"$setup_log"
    run_apt_get update && return
    grep -q 'Could not get lock' "$setup_log" || return 0  # if it matters, the installation will fail
    sleep 10
  done
}

# install_packages [NAME...] [--optional NAME...]
install_packages() {
  local missing optional=() wanted=()
  while [[ $# -gt 0 && $1 != --optional ]]; do
    wanted+=("$1")
    shift
  done
  optional=("${@:2}")
  is_debian || return 0  # CMake will report what is missing
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [[ ${#missing[@]} -gt 0 ]] || return 0
  can_be_root ||
    fail 77 "packages are missing and sudo is not available to this user;" \
      "as root: apt-get install --no-install-recommends ${missing[*]}"
  say "installing ${#missing[@]} packages: ${missing[*]}"
  update_package_lists
  mapfile -t optional < <(known_packages "${optional[@]}")
  run_apt_get install --no-install-recommends "${missing[@]}" "${optional[@]}" ||
    fail 69 "the packages cannot be installed ($(grep -m 1 '^E: ' "$setup_log" || echo "apt-get failed"));" \
      "check the network; output of apt-get: $setup_log"
}

known_packages() {
  local name
  for name in "$@"; do
    apt-cache show "$name" >/dev/null 2>&1 && echo "$name"
  done
  return 0
}

# Number of parallel compilers: 2 GiB of memory each.
build_jobs() {
  local gigabytes
  gigabytes=$(awk '/MemAvailable/ { print int($2 / 2097152) }' /proc/meminfo)
  local jobs=$(nproc)
  echo $((gigabytes < 1 ? 1 : gigabytes < jobs ? gigabytes : jobs))
}

# build TARGET [CMAKE OPTION...]
build() {
  local target=$1 options=("${@:2}")
  options+=(-DCMAKE_C_COMPILER=/usr/bin/gcc -DCMAKE_CXX_COMPILER=/usr/bin/g++)
  # Configure from scratch in a new folder, and when the source tree was moved or copied with its
  # build folder.
  if ! grep -qsFx "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build_dir/CMakeCache.txt"; then
    options+=(--fresh)
    ! type ninja >/dev/null 2>&1 || options+=(-G Ninja)
    ! ccache --show-stats >/dev/null 2>&1 || options+=(-DCMAKE_{CXX,CUDA}_COMPILER_LAUNCHER=ccache)
  fi
  say "building build/bulksim"
  cmake -S "$root" -B "$build_dir" "${options[@]}" >"$setup_log" 2>&1 || {
    grep -A 8 -m 1 'CMake Error' "$setup_log" >&2 || tail -n 8 "$setup_log" >&2
    fail 78 "the build cannot be configured; it needs the Debian packages" \
      "${build_packages[*]}. Output of CMake: $setup_log"
  }
  grep '^-- bulksim ' "$setup_log" | sed 's/^-- //' >&2
  cmake --build "$build_dir" --target "$target" --parallel "$(build_jobs)" >"$setup_log" 2>&1 || {
    grep -m 3 -E 'error: |undefined reference' "$setup_log" >&2 || tail -n 8 "$setup_log" >&2
    fail 70 "the build failed; output of the compiler: $setup_log"
  }
}

clean_environment
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=$root/build
setup_log=$build_dir/setup.log
mkdir -p "$build_dir" 2>/dev/null && : 2>/dev/null >>"$setup_log" ||
  fail 77 "cannot write in $build_dir; is it another user's? Remove it, or use a copy of the folder"
