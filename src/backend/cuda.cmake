# The sources of the CUDA backend, relative to src/. nvcc compiles the .cu files; for tests the C++
# compiler takes them all.
set(BULKSIM_CUDA_SOURCES
  backend/cuda/block_builder.cu
  backend/cuda/panel.cu
  backend/cuda/query_panel.cpp
  backend/cuda/query_rows.cpp
  backend/cuda/row_identity.cu
  backend/cuda/scores.cu
  backend/cuda/sort.cu)

# What they use of the floors below.
set(BULKSIM_CUDA_NEEDS
  core/checksum.cpp
  core/error.cpp
  sparse/csr_matrix.cpp
  sparse/unit_rows.cpp
  sparse/vocabulary.cpp)
