#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/part_file.hpp"
#include "storage/parts/result_ids.hpp"

namespace bulksim {

/// How pairs lie in an HDF5 file.
enum class PairLayout {
  kCsr,    ///< a group in the AnnData layout of a CSR matrix: indptr, indices, data
  kLists,  ///< a group with items and scores, queries x k, the best first
};

/// What is known of the pairs before the first is written.
struct PairExtent {
  MatrixShape shape;
  std::vector<std::int64_t> row_offsets;  ///< queries + 1; of kCsr the content of indptr
  std::int64_t width = 0;                 ///< k, of kLists
};

/// Bytes of items and scores (and of indptr) in a file.
std::int64_t pair_bytes(PairLayout layout, const PairExtent& extent);

/// Writes the pairs of all queries into an HDF5 file with one group. Memory does not grow with the
/// number of pairs. Equal calls make equal bytes.
class PairFileWriter {
 public:
  /// Replaces the file when it is finished. `group` is "pairs", "nonzero" or "topk".
  PairFileWriter(FileCalls& calls, const std::string& path, const std::string& group,
                 PairLayout layout, const PairExtent& extent, const FileAttributes& attributes,
                 const ResultIds& ids);
  ~PairFileWriter();
  PairFileWriter(const PairFileWriter&) = delete;
  PairFileWriter& operator=(const PairFileWriter&) = delete;

  /// The pairs of the next query; of kLists at most `width`, and the places left over hold item -1
  /// and score NaN.
  void append_row(std::span<const std::int64_t> items, std::span<const float> scores);
  /// Makes the file durable, under its name.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Takes the pairs of the next query, be there any or none.
using TakeRow = std::function<void(std::int64_t query, std::span<const std::int64_t> items,
                                   std::span<const float> scores)>;

/// A finished result with pairs, open for reading.
class PairFileReader {
 public:
  /// Takes what SimilarityReader takes. Nothing when the result is a matrix; throws Error (66) when
  /// there is none and Error (65) when it is not whole.
  static std::unique_ptr<PairFileReader> open(FileCalls& calls, const std::string& path);
  ~PairFileReader();
  PairFileReader(const PairFileReader&) = delete;
  PairFileReader& operator=(const PairFileReader&) = delete;

  MatrixShape shape() const;
  PairLayout layout() const;
  /// Pairs (or places) of these queries.
  std::int64_t places(RowRange queries) const;
  /// Items and scores of neighbouring queries, one query behind the other; -1 for places left over.
  void read(RowRange queries, std::vector<std::int64_t>& items, std::vector<float>& scores) const;
  /// All queries, one after the other; reads some million pairs at a time.
  void for_each_row(const TakeRow& take) const;
  ResultIds ids() const;
  /// What the result says of itself.
  const FileAttributes& attributes() const;

 private:
  struct Impl;
  explicit PairFileReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Plan (32 hex digits) of a single-file result with pairs, or nothing when the file is none:
/// HDF5 with the attributes `complete` and `plan`, or a zip archive with the comment of
/// `archive_comment`.
std::string plan_of_pair_file(FileCalls& calls, const std::string& path);

/// The comment of an archive that holds the result of a plan.
std::string archive_comment(const std::string& plan);

/// First line of a result in text.
inline constexpr const char* kPairTextHeader = "query\titem\tscore\n";

}  // namespace bulksim
