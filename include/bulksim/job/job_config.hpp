#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/watchdog.hpp"
#include "bulksim/job/options.hpp"
#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim {

enum class Dimensions {
  kMustAgree,  ///< queries and items have the same number of columns
  kPad,        ///< the narrower side gets empty columns
};

enum class ZeroRows {
  kZero,   ///< a row without values has cosine 0 with everything, itself included
  kError,  ///< such a row is refused
};

/// Everything a user says about a run; valid once it exists.
struct JobConfig {
  std::string items;
  std::string queries;  ///< empty: the items are compared with themselves
  std::string output;
  Irregular irregular = Irregular::kAccept;
  ZeroRows zero_rows = ZeroRows::kZero;
  Dimensions dimensions = Dimensions::kMustAgree;
  std::optional<TileShape> tile;
  std::optional<std::int64_t> parts;
  std::optional<std::int64_t> chunk_rows;  ///< item rows in flight, rounded up to whole tiles
  std::optional<std::int64_t> memory;      ///< bytes a rank may use
  std::optional<int> threads;              ///< of a rank
  std::optional<std::int64_t> max_output;  ///< bytes
  std::optional<double> max_hours;         ///< after which the run stops itself

  /// The side that queries are read from.
  const std::string& query_path() const { return queries.empty() ? items : queries; }
};

/// Seconds after which a run of at most `hours` stops itself: early enough to finish its tiles.
double stop_after(double hours);

/// Reads "init=180,read=300,tile=120,write=300,collective=120", any of them, or one number for all;
/// throws Error (64) for anything else.
Deadlines parse_deadlines(const std::string& text);

/// Options of `bulksim compute`.
CommandSyntax compute_syntax();

/// Builds the configuration; throws Error (64) with the option's name and what it must be.
JobConfig make_job_config(const OptionValues& options);

}  // namespace bulksim
