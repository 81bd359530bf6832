# Fails when a C++ or CUDA file is not formatted according to .clang-format. Other major versions of
# clang-format format some lines differently, so only version 14 is used; skipped if the system does not
# offer it.
#
#   cmake -DROOT=<project> -P check_format.cmake
cmake_minimum_required(VERSION 3.25)

find_program(clang_format NAMES clang-format-14 clang-format NO_CACHE)
if(clang_format)
  execute_process(COMMAND ${clang_format} --version OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
endif()
if(NOT version MATCHES "version 14\\.")
  execute_process(COMMAND apt-cache show clang-format-14 RESULT_VARIABLE unknown OUTPUT_QUIET ERROR_QUIET)
  if(unknown EQUAL 0)
    message(FATAL_ERROR "clang-format 14 is not installed; apt-get install clang-format-14")
  endif()
  message(STATUS "skipped: this system has no clang-format 14")
  return()
endif()

set(files "")
foreach(folder include src jobs tests)
  foreach(ending cpp hpp cu cuh)
    file(GLOB_RECURSE some ${ROOT}/${folder}/*.${ending})
    list(APPEND files ${some})
  endforeach()
endforeach()
if(NOT files)
  message(FATAL_ERROR "no source files under ${ROOT}")
endif()
execute_process(COMMAND ${clang_format} --dry-run --Werror --style=file ${files}
  RESULT_VARIABLE result ERROR_VARIABLE errors)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "not formatted according to .clang-format (fix with clang-format -i):\n${errors}")
endif()
list(LENGTH files count)
message(STATUS "${count} files are formatted according to .clang-format")
