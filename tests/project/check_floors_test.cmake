# Plants one fault of each kind in a small tree and fails unless check_floors.cmake names it.
#
#   cmake -DWORK=<empty folder> -P check_floors_test.cmake
cmake_minimum_required(VERSION 3.25)

# expect(<text> [<path> <content>]...): the check must fail and print <text>; "" means it must pass.
function(expect text)
  file(REMOVE_RECURSE ${WORK})
  file(WRITE ${WORK}/include/bulksim/core/error.hpp "#include <string>\n")
  file(WRITE ${WORK}/include/bulksim/sparse/rows.hpp "#include \"bulksim/core/error.hpp\"\n")
  file(WRITE ${WORK}/src/comm/world.cpp "#include <mpi.h>\n\n#include \"bulksim/core/error.hpp\"\n")
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest path content)
    file(WRITE ${WORK}/${path} "${content}\n")
  endwhile()
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -P ${CMAKE_CURRENT_LIST_DIR}/check_floors.cmake
    RESULT_VARIABLE result ERROR_VARIABLE errors OUTPUT_QUIET)
  string(FIND "${errors}" "${text}" found)
  if(text STREQUAL "" AND NOT result EQUAL 0)
    message(SEND_ERROR "a correct tree was rejected:\n${errors}")
  elseif(NOT text STREQUAL "" AND (result EQUAL 0 OR found EQUAL -1))
    message(SEND_ERROR "not found: ${text}\n${errors}")
  endif()
endfunction()

expect("")
expect("the floor core may not include \"bulksim/sparse/rows.hpp\""
  src/core/error.cpp "#include \"bulksim/sparse/rows.hpp\"")
expect("the floor comm may not include \"bulksim/backend/backend.hpp\""
  include/bulksim/backend/backend.hpp "#pragma once" src/comm/rank.cpp "#include \"bulksim/backend/backend.hpp\"")
expect("the floor sparse may not open <mpi.h> (its door: comm)"
  src/sparse/rows.cpp "#  include <mpi.h>")
expect("<openssl/ssl.h> has no door" src/comm/tls.cpp "#include <openssl/ssl.h>")
expect("\"world.hpp\" is not a path from include/ or src/"
  src/comm/world.hpp "#pragma once" src/comm/rank.cpp "#include \"world.hpp\"")
expect("a public header may not include the private \"comm/world.hpp\""
  src/comm/world.hpp "#pragma once" include/bulksim/comm/rank.hpp "#include \"comm/world.hpp\"")
expect("the floor cuda is all private" include/bulksim/cuda/stream.hpp "#include <memory>")
expect("src/extra/rows.cpp: lies on no floor" src/extra/rows.cpp "#include <memory>")
expect("in a circle of includes" include/bulksim/core/error.hpp "#include \"bulksim/core/log.hpp\""
  include/bulksim/core/log.hpp "#include \"bulksim/core/error.hpp\"")
expect("the room parts of storage may not include \"storage/run/lease.hpp\""
  src/storage/run/lease.hpp "#pragma once" src/storage/parts/part_file.cpp "#include \"storage/run/lease.hpp\"")
expect("attic is not a room of storage" src/storage/attic/part_file.cpp "#include <memory>")
