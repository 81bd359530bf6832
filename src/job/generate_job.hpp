#pragma once

#include <cstdint>
#include <string>

#include "bulksim/core/file.hpp"
#include "core/run/log.hpp"

namespace bulksim {

struct GenerateOptions {
  std::string preset;  ///< a corpus preset
  std::int64_t items = 0;
  std::int64_t queries = 0;
  std::uint64_t seed = 1;
  std::string prefix;  ///< of the two files
};

/// Writes PREFIX_items.csr and PREFIX_queries.csr, rows of a corpus preset: the same bytes for the
/// same preset, seed and numbers of rows on every machine. Memory: 8 bytes per row and a few MiB.
///
/// Throws Error (64) for an unknown preset or a negative number of rows, and what writing throws.
void generate(const GenerateOptions& options, FileCalls& calls, Log& log);

}  // namespace bulksim
