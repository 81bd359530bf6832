# The sources of the CUDA backend, relative to src/. nvcc compiles the .cu files; for tests the C++
# compiler takes them all.
set(BULKSIM_CUDA_SOURCES
  backend/cuda/backend.cpp
  backend/cuda/bench/cusparse_calls.cpp
  backend/cuda/bench/cusparse_products.cpp
  backend/cuda/bench/kernel_bench.cpp
  backend/cuda/bench/merge.cu
  backend/cuda/bench/score_bench.cpp
  backend/cuda/block_builder.cu
  backend/cuda/candidate_rows.cpp
  backend/cuda/filter.cu
  backend/cuda/find_device.cpp
  backend/cuda/group_filter.cpp
  backend/cuda/item_slice.cpp
  backend/cuda/panel.cu
  backend/cuda/pipeline.cpp
  backend/cuda/query_panel.cpp
  backend/cuda/query_rows.cpp
  backend/cuda/row_identity.cu
  backend/cuda/scores.cu
  backend/cuda/second_opinion.cpp
  backend/cuda/sort.cu
  backend/cuda/tile_feeder.cpp)

# The communicator over NCCL, which goes with them where nccl.h is.
set(BULKSIM_NCCL_SOURCES
  comm/nccl/calls.cpp
  comm/nccl/communicator.cpp
  comm/nccl/module.cpp
  comm/nccl/roll_call.cpp
  comm/nccl/world.cpp)
find_path(BULKSIM_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})

# What they use of the rest.
set(BULKSIM_CUDA_NEEDS
  backend/best_preferences.cpp
  backend/labelled_rows.cpp
  backend/pair_filter.cpp
  backend/tile_checks.cpp
  backend/tile_offers.cpp
  comm/communicator.cpp
  core/checksum.cpp
  core/error.cpp
  core/kernel_log.cpp
  core/watchdog.cpp
  sparse/csr_matrix.cpp
  sparse/unit_rows.cpp
  sparse/vocabulary.cpp)
