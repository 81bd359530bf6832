#pragma once

// Runs with block sums, on one or several ranks.

#include <optional>
#include <string>

#include "bulksim/core/file.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "core/run/log.hpp"
#include "job/compute_job.hpp"
#include "storage/result/block_map.hpp"
#include "support/mpi_test_main.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {

inline CsrMatrix load(const std::string& name) {
  const auto source = open_matrix(system_file_calls(), BULKSIM_TEST_DATA "/" + name + ".csr");
  CsrMatrix matrix;
  source->read({0, source->info().rows}, matrix);
  canonicalize(matrix, Irregular::kAccept, name, 0);
  return matrix;
}

/// A run on all ranks.
class BlockSumsJob {
 public:
  BlockSumsJob(const CsrMatrix& queries, const CsrMatrix& items) {
    config.items = folder / "items.csr";
    config.queries = folder / "queries.csr";
    config.output = folder / "out";
    config.threads = 2;
    config.tile = TileShape{32, 512};
    if (world().rank() != 0) return;
    write_csr(config.items, items);
    write_csr(config.queries, queries);
  }

  /// The published block map, on rank 0; nothing when there is none.
  std::optional<BlockMap> run() {
    Log log({.level = LogLevel::kError, .rank = world().rank(), .ranks = world().size()});
    world().barrier();
    try {
      run_compute(config, {*environment, system_file_calls(), log});
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    if (world().rank() != 0) return std::nullopt;
    return read_block_map(system_file_calls(), config.output);
  }

  SharedFolder folder;
  JobConfig config;
};

}  // namespace bulksim::test
