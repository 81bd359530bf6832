# Fails when a file includes a floor above its own or beside it, opens a library outside its door,
# leans on a private header from a public one, or when headers include each other in a circle.
#
#   cmake -DROOT=<project> -P check_floors.cmake
cmake_minimum_required(VERSION 3.25)

set(may_include_core core)
set(may_include_cuda core cuda)
set(may_include_hdf5 core hdf5)
set(may_include_sparse core sparse)
set(may_include_blocks core blocks)
set(may_include_backend core cuda sparse blocks backend)
set(may_include_comm core cuda comm)
set(may_include_formats core hdf5 sparse formats)
set(may_include_storage core hdf5 blocks storage)
set(may_include_job core sparse blocks backend comm formats storage job)
set(may_include_jobs core comm job jobs)
set(private_floors cuda hdf5)

# A header of a library, and the floors that may open it. The first pattern that fits counts; a header
# that fits none has no door yet.
set(doors
  "[a-z_]+"                                    any   # standard library
  "(dlfcn|errno|malloc|poll|pthread|sched|signal|time|unistd|sys/prctl|sys/resource|sys/time|sys/types|sys/wait)\\.h" any
  "(dirent|fcntl|linux/.*|sys/file|sys/ioctl|sys/stat|sys/statfs|sys/statvfs|sys/syscall|sys/uio)\\.h" core
  "(isa-l|isa-l/.*|xxhash|xxh_x86dispatch)(\\.h)?" core
  "(cuda|cub|cusparse|thrust|cooperative_).*"  cuda,backend,comm
  "hdf5\\.h"                                   hdf5,formats,storage
  "hwy/.*"                                     backend
  "(mpi|nccl)\\.h"                             comm
  "(zlib|zip|simdjson)\\.h"                    formats
  "nlohmann/.*"                                storage,job
  "boost/program_options.*"                    job)

file(GLOB_RECURSE files RELATIVE ${ROOT}
  ${ROOT}/include/bulksim/*.hpp ${ROOT}/src/*.[ch]pp ${ROOT}/src/*.cu ${ROOT}/src/*.cuh ${ROOT}/jobs/*.[ch]pp)
if(NOT files)
  message(FATAL_ERROR "no source files under ${ROOT}")
endif()

set(faults "")
function(fault text)
  set(faults ${faults} "  ${text}" PARENT_SCOPE)
endfunction()

# The file under ROOT that `#include "path"` in `file` names; empty when the path is not one of ours.
function(resolve file path out)
  set(${out} "" PARENT_SCOPE)
  set(candidates include/${path} src/${path})
  if(file MATCHES "^jobs/")
    list(APPEND candidates jobs/${path})
  endif()
  foreach(candidate IN LISTS candidates)
    if(EXISTS ${ROOT}/${candidate})
      set(${out} ${candidate} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

function(floor_of file out)
  if(file MATCHES "^(include/bulksim|src)/([a-z0-9]+)/")
    set(${out} ${CMAKE_MATCH_2} PARENT_SCOPE)
  elseif(file MATCHES "^jobs/")
    set(${out} jobs PARENT_SCOPE)
  else()
    set(${out} "" PARENT_SCOPE)
  endif()
endfunction()

function(check_own file floor path)
  resolve(${file} ${path} target)
  if(NOT target)
    fault("${file}: \"${path}\" is no path from include/ or src/")
  else()
    floor_of(${target} target_floor)
    if(NOT target_floor IN_LIST may_include_${floor})
      fault("${file}: the floor ${floor} may not include \"${path}\"")
    elseif(file MATCHES "^include/" AND NOT target MATCHES "^include/")
      fault("${file}: a public header may not include the private \"${path}\"")
    endif()
  endif()
  return(PROPAGATE faults)
endfunction()

function(check_library file floor header)
  set(rest ${doors})
  while(rest)
    list(POP_FRONT rest pattern floors)
    if(header MATCHES "^(${pattern})$")
      string(REPLACE "," ";" opened_by ${floors})
      if(NOT floors STREQUAL "any" AND NOT floor IN_LIST opened_by)
        fault("${file}: the floor ${floor} may not open <${header}> (its door: ${floors})")
      endif()
      return(PROPAGATE faults)
    endif()
  endwhile()
  fault("${file}: <${header}> has no door in the table of check_floors.cmake")
  return(PROPAGATE faults)
endfunction()

# Includes of every file: checked here, kept for the search for circles.
foreach(file IN LISTS files)
  floor_of(${file} floor)
  if(NOT DEFINED may_include_${floor})
    fault("${file}: lies on no floor")
    continue()
  endif()
  if(file MATCHES "^include/" AND floor IN_LIST private_floors)
    fault("${file}: the floor ${floor} is all private and belongs in src/")
  endif()
  file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  set(open_${file} "")
  foreach(line IN LISTS lines)
    if(line MATCHES "\"([^\"]+)\"")
      check_own(${file} ${floor} ${CMAKE_MATCH_1})
      resolve(${file} ${CMAKE_MATCH_1} target)
      list(APPEND open_${file} ${target})
    elseif(line MATCHES "<([^>]+)>")
      check_library(${file} ${floor} ${CMAKE_MATCH_1})
    endif()
  endforeach()
endforeach()

# Take away whatever includes nothing that is left; what stays in the end are circles.
set(left ${files})
set(before "")
while(NOT "${left}" STREQUAL "${before}")
  set(before ${left})
  set(left "")
  foreach(file IN LISTS before)
    foreach(target IN LISTS open_${file})
      if(target IN_LIST before)
        list(APPEND left ${file})
        break()
      endif()
    endforeach()
  endforeach()
endwhile()
if(left)
  list(JOIN left " " left)
  fault("in a circle of includes, or leading into one: ${left}")
endif()

if(faults)
  list(JOIN faults "\n" faults)
  message(FATAL_ERROR "the floors are broken:\n${faults}")
endif()
list(LENGTH files count)
message(STATUS "${count} files keep to their floors")
