# Fails when a kernel needs more registers than its budget, spills, uses local memory, or contains float
# code whose rounding is not pinned. Prints a table.
#
#   cmake -DROOT=<project> -DNVCC=<nvcc> -DWORK=<folder> -P ptxas_check.cmake
cmake_minimum_required(VERSION 3.25)

# The budgets allow the blocks of the launch shapes: 26 warps of the score kernel are one block of 832
# threads (65,536 / 832 = 78 registers), three blocks of the long-row kernel are 768 threads (85), and
# two to four blocks of the others share a multiprocessor.
set(budgets
  score_kernel    72
  long_row_kernel 80
  ".*_kernel"     64)
set(architectures 80 90 100)
set(files bench/merge kernels/block_builder kernels/filter kernels/panel kernels/row_identity kernels/scores)

file(MAKE_DIRECTORY ${WORK})
set(flags -std=c++20 -O3 -fmad=false -I${ROOT}/src -I${ROOT}/include)

function(budget_of kernel out)
  set(rest ${budgets})
  while(rest)
    list(POP_FRONT rest pattern registers)
    if(kernel MATCHES "^${pattern}$")
      set(${out} ${registers} PARENT_SCOPE)
      return()
    endif()
  endwhile()
  message(FATAL_ERROR "${kernel} has no budget")
endfunction()

set(kernels 0)
foreach(file IN LISTS files)
  foreach(architecture IN LISTS architectures)
    execute_process(
      COMMAND ${NVCC} ${flags} -arch=sm_${architecture} -Xptxas=-v,-warn-spills,-warn-lmem-usage
              -Werror=all-warnings -c ${ROOT}/src/backend/cuda/${file}.cu -o ${WORK}/kernel.o
      OUTPUT_VARIABLE log ERROR_VARIABLE log RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "${file}.cu does not compile for sm_${architecture}:\n${log}")
    endif()
    string(REGEX MATCHALL "entry function '[^']*'|Used [0-9]+ registers" facts "${log}")
    foreach(fact IN LISTS facts)
      if(fact MATCHES "'_ZN.*[0-9]([a-z_]+_kernel)")
        set(kernel ${CMAKE_MATCH_1})
      elseif(fact MATCHES "Used ([0-9]+) registers")
        set(registers ${CMAKE_MATCH_1})
        budget_of(${kernel} budget)
        message(STATUS "sm_${architecture} ${kernel}: ${registers} of ${budget} registers")
        math(EXPR kernels "${kernels} + 1")
        if(registers GREATER budget)
          message(SEND_ERROR "${kernel} needs ${registers} registers on sm_${architecture} (budget: ${budget})")
        endif()
      endif()
    endforeach()
  endforeach()
  execute_process(COMMAND ${NVCC} ${flags} -arch=sm_80 -ptx ${ROOT}/src/backend/cuda/${file}.cu
    -o ${WORK}/kernel.ptx COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${WORK}/kernel.ptx unpinned REGEX "\\.(ftz|approx)")
  if(unpinned)
    message(SEND_ERROR "${file}.cu contains float code whose rounding is not pinned: ${unpinned}")
  endif()
endforeach()
if(kernels LESS 50)
  message(FATAL_ERROR "only ${kernels} kernels were found")
endif()
