#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hdf5.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/part_layout.hpp"
#include "storage/parts/tile_files.hpp"
#include "storage/result/similarity_file.hpp"

namespace bulksim::test {

/// The value of a cell of the test matrix: exact in float32, and never 0.
inline float cell_value(std::int64_t query, std::int64_t item) {
  return static_cast<float>(query % 1000 * 16384 + item % 16384 + 1);
}

/// A whole tile of the test matrix, with zeros past the edge.
inline std::vector<float> tile_values(const TileGrid& grid, TileId id) {
  std::vector<float> values(static_cast<std::size_t>(grid.tile().cells()));
  const RowRange queries = grid.queries(id.row);
  const RowRange items = grid.items(id.column);
  for (std::int64_t q = queries.begin; q < queries.end; ++q) {
    for (std::int64_t i = items.begin; i < items.end; ++i) {
      const std::int64_t cell = (q - queries.begin) * grid.tile().items + i - items.begin;
      values[static_cast<std::size_t>(cell)] = cell_value(q, i);
    }
  }
  return values;
}

/// A block of the test matrix, row-major.
inline std::vector<float> block_values(RowRange queries, RowRange items) {
  std::vector<float> values;
  for (std::int64_t q = queries.begin; q < queries.end; ++q) {
    for (std::int64_t i = items.begin; i < items.end; ++i)
      values.push_back(cell_value(q, i));
  }
  return values;
}

inline std::vector<float> matrix_values(const TileGrid& grid) {
  return block_values({0, grid.shape().queries}, {0, grid.shape().items});
}

/// Parts of a test matrix in a folder, in the order of their columns.
struct Parts {
  std::vector<std::string> names;  ///< relative to the folder
  std::vector<std::string> paths;
  std::vector<PartLayout> layouts;
};

/// `count` parts with nearly equal numbers of tile columns, under folder/parts.
inline Parts plan_parts(const std::string& folder, const TileGrid& grid, std::int64_t count) {
  Parts parts;
  for (std::int64_t p = 0; p < count; ++p) {
    const RowRange columns{grid.columns() * p / count, grid.columns() * (p + 1) / count};
    char name[64];
    std::snprintf(name, sizeof name, "parts/part-%05lld.h5", static_cast<long long>(p));
    parts.names.emplace_back(name);
    parts.paths.push_back(folder + "/" + name);
    parts.layouts.push_back(plan_part(grid, columns, "tiles"));
  }
  return parts;
}

inline Parts preallocate(const std::string& folder, const TileGrid& grid, std::int64_t count) {
  Parts parts = plan_parts(folder, grid, count);
  make_directories(system_file_calls(), folder + "/parts");
  preallocate_parts(system_file_calls(), grid, parts.paths, parts.layouts);
  return parts;
}

inline void fill(const TileGrid& grid, const Parts& parts) {
  TileFiles files(system_file_calls(), grid, parts.paths, parts.layouts, TileAccess::kReadWrite);
  for (std::int64_t number = 0; number < grid.count(); ++number) {
    files.write(grid.id(number), 0, tile_values(grid, grid.id(number)));
  }
  files.sync();
}

/// A finished result: parts and similarity.h5.
inline Parts make_result(const std::string& folder, const TileGrid& grid, std::int64_t count,
                         const FileAttributes& more = {}) {
  const Parts parts = preallocate(folder, grid, count);
  fill(grid, parts);
  write_similarity_file(system_file_calls(), folder + "/similarity.h5", grid, parts.layouts,
                        parts.names, result_attributes(grid, more));
  return parts;
}

/// A matrix as read by any HDF5 reader.
struct RawMatrix {
  std::vector<hsize_t> extent;
  std::vector<float> values;
  bool failed = true;
};

inline RawMatrix read_hdf5(const std::string& path, const std::string& dataset) {
  RawMatrix matrix;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t data = H5Dopen2(file, dataset.c_str(), H5P_DEFAULT);
  const hid_t space = H5Dget_space(data);
  matrix.extent.resize(2);
  H5Sget_simple_extent_dims(space, matrix.extent.data(), nullptr);
  matrix.values.resize(matrix.extent[0] * matrix.extent[1]);
  matrix.failed =
      H5Dread(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, matrix.values.data()) < 0;
  H5Sclose(space);
  H5Dclose(data);
  H5Fclose(file);
  return matrix;
}

/// Runs `body` in a child process and returns its exit status: 128 + n when signal n ended it, or
/// the code of an Error that it threw.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      _exit(std::forward<Body>(body)());
    } catch (const Error& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      _exit(static_cast<int>(error.code()));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      _exit(1);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Limits the number of file descriptors of this process, like `ulimit -n`.
inline void limit_open_files(rlim_t most) {
  const rlimit limit{most, most};
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace bulksim::test
