#pragma once

// What nvcc and other compilers spell differently. Under other compilers the same kernel files run
// on the CPU, with <cuda_emulator.hpp> of the tests in place of nvcc's declarations.

#ifdef __CUDACC__

#define BULKSIM_SHARED(type, name, extent) __shared__ type name extent
#define BULKSIM_DYNAMIC_SHARED(type, name)                                \
  extern __shared__ __align__(16) unsigned char bulksim_dynamic_shared[]; \
  type* const name = reinterpret_cast<type*>(bulksim_dynamic_shared)
#define BULKSIM_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
  kernel<<<(grid), (block), (shared_bytes), (stream)>>>(__VA_ARGS__)
#define BULKSIM_PRAGMA(text) _Pragma(#text)
#define BULKSIM_UNROLL(times) BULKSIM_PRAGMA(unroll times)

#else

#include <cuda_emulator.hpp>

#define BULKSIM_SHARED(type, name, extent)                                      \
  using name##_shared = type extent;                                            \
  auto& name = *static_cast<name##_shared*>(::bulksim::emulator::static_shared( \
      [] {                                                                      \
        static const char key = 0;                                              \
        return &key;                                                            \
      }(),                                                                      \
      sizeof(name##_shared), alignof(name##_shared)))
#define BULKSIM_DYNAMIC_SHARED(type, name) \
  type* const name = reinterpret_cast<type*>(::bulksim::emulator::dynamic_shared())
#define BULKSIM_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)          \
  ::bulksim::emulator::launch(#kernel, kernel, (grid), (block), (shared_bytes), \
                              (stream)__VA_OPT__(, ) __VA_ARGS__)
#define BULKSIM_UNROLL(times)

#endif
