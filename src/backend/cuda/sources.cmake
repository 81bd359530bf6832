# The sources of the CUDA modules, relative to src/. nvcc compiles the .cu files; for the emulator the
# C++ compiler takes them all.
set(src ${CMAKE_CURRENT_LIST_DIR}/../..)
file(GLOB BULKSIM_CUDA_SOURCES CONFIGURE_DEPENDS RELATIVE ${src}
  ${CMAKE_CURRENT_LIST_DIR}/kernels/*.cu ${CMAKE_CURRENT_LIST_DIR}/stream/*.cpp)
file(GLOB BULKSIM_CUDA_BENCH_SOURCES CONFIGURE_DEPENDS RELATIVE ${src}
  ${CMAKE_CURRENT_LIST_DIR}/bench/*.cu ${CMAKE_CURRENT_LIST_DIR}/bench/*.cpp)

# The communicator over NCCL, included if nccl.h is found.
find_path(BULKSIM_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
if(BULKSIM_NCCL_INCLUDE_DIR)
  file(GLOB BULKSIM_NCCL_SOURCES CONFIGURE_DEPENDS RELATIVE ${src} ${src}/comm/nccl/*.cpp)
endif()

# The sources of the library that they use, for builds without the library.
set(BULKSIM_CUDA_NEEDS
  backend/cuda/device_memory.cpp
  backend/rows/top_k_heaps.cpp
  backend/rows/labelled_rows.cpp
  backend/rows/pair_filter.cpp
  backend/rows/tile_batch_queue.cpp
  backend/rows/tile_checks.cpp
  backend/rows/pending_top_k.cpp
  comm/communicator.cpp
  core/checksum.cpp
  core/error.cpp
  core/run/host.cpp
  core/run/kernel_log.cpp
  core/run/parallel.cpp
  core/run/watchdog.cpp
  core/text/format_text.cpp
  sparse/csr_matrix.cpp
  sparse/quantized_rows.cpp
  sparse/vocabulary.cpp)

foreach(list BULKSIM_CUDA_SOURCES BULKSIM_CUDA_BENCH_SOURCES BULKSIM_NCCL_SOURCES BULKSIM_CUDA_NEEDS)
  list(TRANSFORM ${list} PREPEND ${src}/)
endforeach()
