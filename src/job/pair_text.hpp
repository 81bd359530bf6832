#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bulksim/core/file.hpp"
#include "bulksim/core/file_appender.hpp"
#include "bulksim/storage/result_names.hpp"

namespace bulksim {

/// Lines of a text with pairs.
enum class PairText {
  kTsv,   ///< query, item, score, tabs between, and a first line that says so
  kTrec,  ///< query Q0 item rank score bulksim
};

/// Writes pairs as text, with the names of rows where there are any.
class PairTextWriter {
 public:
  /// Makes the file, in the place of one of that name.
  PairTextWriter(FileCalls& calls, const std::string& path, PairText text, ResultNames names);

  void append_row(std::int64_t query, std::span<const std::int64_t> items,
                  std::span<const float> scores);
  /// Makes the file durable.
  void finish();

 private:
  PairText text_;
  ResultNames names_;
  File file_;
  FileAppender out_;
};

}  // namespace bulksim
