#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "core/files/file_appender.hpp"
#include "hdf5/arrays.hpp"
#include "storage/parts/part_layout.hpp"
#include "storage/parts/result_ids.hpp"
#include "storage/result/archive_comment.hpp"

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

/// The attribute of each array with the XXH3-128 of its bytes.
inline constexpr const char* kDigestAttribute = "xxh3_128";

/// Writes the pairs of all queries as HDF5 with one group. Every byte is covered by a digest: the
/// preface (the user block of HDF5) holds that of all bytes after it, each array that of its own.
/// Memory does not grow with the number of pairs. Equal calls produce equal bytes.
class PairFileWriter {
 public:
  /// `file` is empty and must outlive the writer. `group` is "pairs", "nonzero" or "topk".
  PairFileWriter(const File& file, const std::string& group, PairLayout layout,
                 const PairExtent& extent, const FileAttributes& attributes, const ResultIds& ids);
  ~PairFileWriter();
  PairFileWriter(const PairFileWriter&) = delete;
  PairFileWriter& operator=(const PairFileWriter&) = delete;
  PairFileWriter(PairFileWriter&&) = delete;
  PairFileWriter& operator=(PairFileWriter&&) = delete;

  /// Appends the pairs of the next query; with kLists at most `width`, and unused places get item
  /// -1 and score NaN.
  void append_row(std::span<const std::int64_t> items, std::span<const float> scores);
  /// Writes what is left, and the digests.
  void finish();

 private:
  struct Array {
    std::string name;
    FileAppender content;
  };

  void add(const std::string& name, h5::Element element, const std::vector<hsize_t>& extent);

  const File& file_;
  h5::File hdf5_;
  PairLayout layout_;
  std::int64_t width_;
  bool wide_;                  ///< items have 64 bits
  std::vector<Array> arrays_;  ///< the last two are items and scores
  std::vector<std::int32_t> narrow_;
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
  /// "pairs", "nonzero" or "topk".
  const std::string& group() const;
  /// Number of pairs (with kLists, places) of these queries.
  std::int64_t places(RowRange queries) const;
  /// Reads items and scores of consecutive queries; unused places have item -1.
  void read(RowRange queries, std::vector<std::int64_t>& items, std::vector<float>& scores) const;
  /// Calls `take` for all queries in order; reads a few million pairs at a time.
  void for_each_row(const TakeRow& take) const;
  ResultIds ids() const;
  /// Attributes of the result.
  const FileAttributes& attributes() const;

  struct ArrayDigest {
    std::string name;
    std::string expected;  ///< as in the file; empty in results of older versions
    std::string found;
  };
  /// Reads every array, those of the ids as well.
  std::vector<ArrayDigest> array_digests() const;

 private:
  struct Impl;
  explicit PairFileReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Compares a single-file result with pairs, HDF5 or .npz, with its digest; reads every byte.
FileDigest check_digest(FileCalls& calls, const std::string& path);

/// Plan (32 hex digits) of a single-file result with pairs, HDF5 or .npz; empty for any other file.
std::string plan_of_pair_file(FileCalls& calls, const std::string& path);

}  // namespace bulksim
