#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/part_layout.hpp"
#include "storage/parts/result_ids.hpp"

namespace bulksim {

/// Layout of pairs in an HDF5 file.
enum class PairLayout {
  kCsr,    ///< a group in the AnnData layout of a CSR matrix: indptr, indices, data
  kLists,  ///< a group with items and scores, queries x k, highest score first
};

/// Number of pairs, known before the first is written.
struct PairExtent {
  MatrixShape shape;
  std::vector<std::int64_t> row_offsets;  ///< for kCsr: queries + 1, the content of indptr
  std::int64_t width = 0;                 ///< for kLists: k
};

/// Bytes of items and scores (and of indptr) in a file.
std::int64_t pair_bytes(PairLayout layout, const PairExtent& extent);

/// Writes the pairs of all queries to an HDF5 file with one group. Memory does not grow with the
/// number of pairs. Equal calls produce equal bytes.
class PairFileWriter {
 public:
  /// Creates or replaces the file in `finish`. `group` is "pairs", "nonzero" or "topk".
  PairFileWriter(FileCalls& calls, const std::string& path, const std::string& group,
                 PairLayout layout, const PairExtent& extent, const FileAttributes& attributes,
                 const ResultIds& ids);
  ~PairFileWriter();
  PairFileWriter(const PairFileWriter&) = delete;
  PairFileWriter& operator=(const PairFileWriter&) = delete;

  /// Appends the pairs of the next query; with kLists at most `width`, and unused places get item
  /// -1 and score NaN.
  void append_row(std::span<const std::int64_t> items, std::span<const float> scores);
  /// Makes the file durable and gives it its final name.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Receives the pairs of the next query, possibly none.
using TakeRow = std::function<void(std::int64_t query, std::span<const std::int64_t> items,
                                   std::span<const float> scores)>;

/// A finished result with pairs, open for reading.
class PairFileReader {
 public:
  /// Accepts the same paths as SimilarityReader. Returns null when the result is a matrix. Throws
  /// Error (66) when there is no result and Error (65) when it is incomplete.
  static std::unique_ptr<PairFileReader> open(FileCalls& calls, const std::string& path);
  ~PairFileReader();
  PairFileReader(const PairFileReader&) = delete;
  PairFileReader& operator=(const PairFileReader&) = delete;

  MatrixShape shape() const;
  PairLayout layout() const;
  /// Number of pairs (with kLists, places) of these queries.
  std::int64_t places(RowRange queries) const;
  /// Reads items and scores of consecutive queries; unused places have item -1.
  void read(RowRange queries, std::vector<std::int64_t>& items, std::vector<float>& scores) const;
  /// Calls `take` for all queries in order; reads a few million pairs at a time.
  void for_each_row(const TakeRow& take) const;
  ResultIds ids() const;
  /// Attributes of the result.
  const FileAttributes& attributes() const;

 private:
  struct Impl;
  explicit PairFileReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Plan (32 hex digits) of a single-file result with pairs; empty for any other file. Such a result
/// is HDF5 with the attributes `complete` and `plan`, or a zip archive with the comment of
/// `archive_comment`.
std::string plan_of_pair_file(FileCalls& calls, const std::string& path);

/// The zip comment of an archive with the result of a plan.
std::string archive_comment(const std::string& plan);

/// First line of a text result.
inline constexpr const char* kPairTextHeader = "query\titem\tscore\n";

}  // namespace bulksim
