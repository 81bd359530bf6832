# The sources of the CUDA backend, relative to src/. nvcc compiles the .cu files; for tests the C++
# compiler takes them all.
set(BULKSIM_CUDA_SOURCES
  backend/cuda/backend.cpp
  backend/cuda/block_builder.cu
  backend/cuda/item_slice.cpp
  backend/cuda/panel.cu
  backend/cuda/query_panel.cpp
  backend/cuda/query_rows.cpp
  backend/cuda/row_identity.cu
  backend/cuda/scores.cu
  backend/cuda/second_opinion.cpp
  backend/cuda/sort.cu
  backend/cuda/tile_feeder.cpp)

# What they use of the rest.
set(BULKSIM_CUDA_NEEDS
  backend/labelled_rows.cpp
  backend/tile_checks.cpp
  core/checksum.cpp
  core/error.cpp
  sparse/csr_matrix.cpp
  sparse/unit_rows.cpp
  sparse/vocabulary.cpp)
