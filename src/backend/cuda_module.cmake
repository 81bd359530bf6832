# The module with the CUDA backend, libbulksim_cuda.so. It is loaded when it is asked for, so that the
# program itself needs nothing of CUDA. Included where CUDAToolkit was found.
include(${CMAKE_CURRENT_LIST_DIR}/cuda.cmake)

set(BULKSIM_CUDA_ARCHITECTURES "80-real;90-real;100" CACHE STRING
  "Architectures to compile for; the last one also as PTX for later devices")
# CMake 3.25 does not know yet that nvcc takes C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA_ARCHITECTURES ${BULKSIM_CUDA_ARCHITECTURES})
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
endif()
enable_language(CUDA)

if(BULKSIM_NCCL_INCLUDE_DIR)
  list(APPEND BULKSIM_CUDA_SOURCES ${BULKSIM_NCCL_SOURCES})
endif()
list(TRANSFORM BULKSIM_CUDA_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE cuda_sources)
list(TRANSFORM BULKSIM_CUDA_NEEDS PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE cuda_needs)
add_library(bulksim_cuda MODULE ${cuda_sources} ${cuda_needs})
set_target_properties(bulksim_cuda PROPERTIES
  CUDA_STANDARD 20
  CUDA_STANDARD_REQUIRED ON
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_include_directories(bulksim_cuda PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_include_directories(bulksim_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
# No fused multiply-add of the compiler's own accord, on either side; a kernel that spills registers or
# keeps anything in local memory does not compile.
target_compile_options(bulksim_cuda PRIVATE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -Wall -Wextra -Wshadow -Wconversion>
  $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false -Werror=all-warnings
    -Xptxas=-warn-spills,-warn-lmem-usage -Xcompiler=-Wall,-Wextra>)
target_link_libraries(bulksim_cuda PRIVATE CUDA::cudart_static Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(bulksim_cuda PRIVATE -Wl,--as-needed -Wl,--no-undefined
  -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/cuda_module.map)
