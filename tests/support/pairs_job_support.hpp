#pragma once

// Runs that search for pairs, on one or several ranks.

#include <cstddef>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "core/run/log.hpp"
#include "hdf5/file.hpp"
#include "job/compute_job.hpp"
#include "support/mpi_test_main.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {

/// A run on all ranks for the pairs of two matrices, or of one with itself.
class PairsJob {
 public:
  PairsJob(const CsrMatrix& queries, const CsrMatrix& items, const PairFilterSpec& spec)
      : PairsJob(items, spec) {
    config.queries = folder / "queries.csr";
    if (world().rank() == 0) write_csr(config.queries, queries);
  }
  PairsJob(const CsrMatrix& items, const PairFilterSpec& spec) {
    config.items = folder / "items.csr";
    config.output = folder / "result.h5";
    config.threads = 2;
    config.filter = spec;
    if (world().rank() == 0) write_csr(config.items, items);
  }

  /// Returns the code of the error, or 0; sets `sentence`.
  int run() {
    Log log({.level = LogLevel::kError, .rank = world().rank(), .ranks = world().size()});
    world().barrier();
    try {
      run_compute(config, {*environment, system_file_calls(), log});
      return 0;
    } catch (const Error& error) {
      sentence = error.what();
      return static_cast<int>(error.code());
    }
  }
  std::string bytes() const {
    return world().rank() == 0 ? read_file(config.output) : std::string();
  }

  SharedFolder folder;
  JobConfig config;
  std::string sentence;
};

template <class T>
std::vector<T> read_array(const h5::File& file, const std::string& name, hid_t type) {
  const h5::Dataset array(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), "open " + name);
  const h5::Dataspace space(H5Dget_space(array.get()), "inspect " + name);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
  h5::check(H5Dread(array.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
            "read " + name);
  return values;
}

}  // namespace bulksim::test
