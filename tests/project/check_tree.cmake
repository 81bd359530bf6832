# Fails when the top of the tree contains an unexpected entry, or when a script has a syntax error.
#
#   cmake -DROOT=<project> -P check_tree.cmake
cmake_minimum_required(VERSION 3.25)

set(rooms src include jobs configs tests slurm CMakeLists.txt README.md)
execute_process(COMMAND git -C ${ROOT} ls-files --cached --others --exclude-standard
  OUTPUT_VARIABLE listed ERROR_QUIET)
if(listed)
  string(REGEX MATCHALL "[^\n]+" entries ${listed})
  list(TRANSFORM entries REPLACE "/.*" "")
  list(REMOVE_DUPLICATES entries)
else()  # a copy without its history
  file(GLOB entries RELATIVE ${ROOT} ${ROOT}/*)
  list(FILTER entries EXCLUDE REGEX "^build")
endif()
foreach(entry IN LISTS entries)
  if(NOT entry IN_LIST rooms AND NOT entry MATCHES "^\\.")
    message(SEND_ERROR "'${entry}' does not belong at the top of the tree")
  endif()
endforeach()

file(GLOB_RECURSE scripts ${ROOT}/jobs/*.sh ${ROOT}/tests/*.sh ${ROOT}/slurm/*.sh ${ROOT}/slurm/*.sbatch
  ${ROOT}/.ci/run)
if(NOT scripts)
  message(FATAL_ERROR "no scripts under ${ROOT}")
endif()
foreach(script IN LISTS scripts)
  execute_process(COMMAND bash -n ${script} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(SEND_ERROR "${script} has a syntax error")
  endif()
endforeach()
