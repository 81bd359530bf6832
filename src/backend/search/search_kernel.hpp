#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/rows/labelled_rows.hpp"
#include "backend/search/join_index.hpp"
#include "backend/search/search_block.hpp"

namespace bulksim {

/// An item whose bound reaches the limit, and its coarse sum.
struct Candidate {
  std::uint32_t item;  ///< within the block
  std::int32_t sum;
};

/// Which items of a block are candidates: sum + rest * lengths[item] >= limit, in float32.
struct Sieve {
  const float* lengths = nullptr;
  float rest = 0.0f;
  float limit = 0.0f;
};

struct SieveResult {
  std::size_t candidates = 0;
  std::uint32_t total = 0;  ///< of all sums, modulo 2^32
};

/// Which postings of the join pass: value * posting.value + before * posting.before >= limit, in
/// float32.
struct JoinTest {
  float value = 0.0f;
  float before = 0.0f;
  float limit = 0.0f;
};

/// The exact sum of two rows, in two parts: columns whose labels are below a border, and others.
struct SplitSum {
  std::int64_t below = 0;
  std::int64_t others = 0;
};

/// The functions compiled once per instruction set.
struct SearchKernel {
  /// Adds weight x coarse for each posting.
  void (*add)(const CoarsePosting* postings, std::size_t size, std::int32_t weight,
              std::int32_t* sums);
  /// Tests all `items` sums (a multiple of kSweptAtOnce), writes the candidates, items ascending,
  /// and clears the sums. `out` has room for all items.
  SieveResult (*sweep)(std::int32_t* sums, std::size_t items, const Sieve& sieve, Candidate* out);
  /// Writes the items of the postings that pass and returns their number. `out` has room for all;
  /// kPadding postings behind the last can be read.
  std::size_t (*test)(const JoinPosting* postings, const std::uint16_t* items, std::size_t size,
                      const JoinTest& test, std::uint16_t* out);
  /// Sum of the products of a row with the `values` of a query, indexed by label.
  SplitSum (*multiply)(const LabelledEntry* row, std::size_t size, const std::int32_t* values,
                       std::uint32_t border);

  /// The functions for the best instruction set of this machine.
  static const SearchKernel& best();
};

}  // namespace bulksim
