# Fails when a C++ or CUDA file is not laid out as .clang-format says. Another major version of
# clang-format lays some lines out differently, so only version 14 is asked; it is left out where the
# system offers none.
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
  message(FATAL_ERROR "not as .clang-format says (mend with clang-format -i):\n${errors}")
endif()
list(LENGTH files count)
message(STATUS "${count} files are laid out as .clang-format says")
