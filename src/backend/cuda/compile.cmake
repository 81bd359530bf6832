# How nvcc compiles the kernels. Included where CUDAToolkit was found.
set(BULKSIM_CUDA_ARCHITECTURES "80-real;90-real;100" CACHE STRING
  "Architectures to compile for; the last one also as PTX for later devices")
# CMake 3.25 does not know yet that nvcc supports C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA_ARCHITECTURES ${BULKSIM_CUDA_ARCHITECTURES})
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
endif()
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
# The compiler must not contract to fused multiply-adds, on host or device; a kernel that spills
# registers or uses local memory does not compile.
set(BULKSIM_CUDA_OPTIONS
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -Wall -Wextra -Wshadow -Wconversion>
  $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false -Werror=all-warnings
    -Xptxas=-warn-spills,-warn-lmem-usage -Xcompiler=-Wall,-Wextra>)
