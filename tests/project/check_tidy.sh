#!/usr/bin/env bash
# Runs clang-tidy 22 on our sources, with the checks of .clang-tidy.
#
#   bash tests/project/check_tidy.sh WORK [--all|--record]
#
# WORK is a folder for a configuration that is never built. Without an option: the files that changed
# since the last commit that recorded a clean run (in tests/project/tidy_clean), the newest 40 of them; every
# file where the history does not reach back to that commit. --all: every file. --record: every file, and
# a clean run is written to tests/project/tidy_clean, to be committed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$1
mode=${2:-}
record=$root/tests/project/tidy_clean
most=40

fail() {
  echo "$*"
  exit 1
}

find_tidy() {
  tidy=$(type -P clang-tidy-22 || true)
  [[ -z $tidy ]] || return 0
  ! apt-cache show clang-tidy-22 >/dev/null 2>&1 ||
    fail "clang-tidy 22 is not installed; apt-get install clang-tidy-22"
  echo "skipped: this system has no clang-tidy 22"
  exit 0
}

# The last commit that recorded a clean run; fails where the history is not there.
recorded_commit() {
  [[ $(git rev-parse --is-shallow-repository 2>/dev/null) == false ]] &&
    git log -1 --format=%H -- tests/project/tidy_clean | grep .
}

# Sources and headers that differ from a commit, the newest first.
changed_files() {
  {
    git diff --name-only HEAD
    git ls-files --others --exclude-standard
    git log --format= --name-only "$1..HEAD"
  } | grep -E '^(src|include|jobs)/.*\.[ch]pp$' | awk '!seen[$0]++' || true
}

# The source to check for a file: itself, or for a header its own source or one that includes it.
source_of() {
  local file=$1 stem=${1%.hpp} name=${1#include/bulksim/}
  if [[ $file == *.cpp ]]; then
    echo "$file"
  elif [[ -f $stem.cpp ]]; then
    echo "$stem.cpp"
  elif [[ -f src/${name%.hpp}.cpp ]]; then
    echo "src/${name%.hpp}.cpp"
  else
    name=${file#include/}
    { grep -rlF --include='*.cpp' "\"${name#src/}\"" src jobs || true; } | LC_ALL=C sort | sed -n 1p
  fi
}

recent_files() {
  local file
  changed_files "$1" | while read -r file; do
    [[ ! -f $file ]] || source_of "$file"
  done | awk '!seen[$0]++'
}

cd "$root"
find_tidy
cmake -S . -B "$work" -DBULKSIM_CUDA=OFF -DBULKSIM_TESTS=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
  -DCMAKE_CXX_COMPILER=/usr/bin/g++ >"$work.log" 2>&1 || fail "cannot configure; see $work.log"

if [[ -z $mode ]] && clean=$(recorded_commit); then
  files=$(recent_files "$clean")
else
  mode=${mode:---all}
  files=$(find src jobs -name '*.cpp' | LC_ALL=C sort)
fi
compiled=$(sed -n "s|^ *\"file\": \"$root/\(.*\)\",\{0,1\}$|\1|p" "$work/compile_commands.json")
files=$(grep -Fx "$compiled" <<<"$files" || true)  # without CUDA, NCCL and sources that only tests compile
count=$(grep -c . <<<"$files" || true)
[[ -n $mode ]] || files=$(head -n $most <<<"$files")

# Headers are reported by each source that includes them.
findings=$(grep . <<<"$files" | xargs -r -P "$(nproc)" -n 1 "$tidy" -p "$work" --quiet 2>/dev/null |
  awk '/(warning|error): / { shown = !seen[$0]++ } shown' || true)
[[ -z $findings ]] || fail "clang-tidy found:
${findings//$root\//}"
if [[ $mode == --record ]]; then
  [[ -z $(git status --porcelain -- src include jobs .clang-tidy) ]] ||
    fail "nothing found, but not recorded: src, include or jobs differ from the current commit"
  echo "$("$tidy" --version | grep -o 'version [0-9.]*'), $(grep -c . <<<"$files") files, after $(git rev-parse HEAD)" >"$record"
fi
echo "clang-tidy finds nothing in $(grep -c . <<<"$files" || true) of $count files"
