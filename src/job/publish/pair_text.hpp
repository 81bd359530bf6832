#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "storage/parts/result_ids.hpp"

namespace bulksim {

/// Formats of pairs as text.
enum class PairText {
  kTsv,   ///< query, item, score, separated by tabs, after a header line
  kTrec,  ///< query Q0 item rank score bulksim
};

/// Formats pairs as text, with the ids of rows where there are any, and passes on each line.
class PairTextWriter {
 public:
  using TakeLine = std::function<void(std::string_view line)>;

  PairTextWriter(PairText text, ResultIds ids, TakeLine take);

  void append_row(std::int64_t query, std::span<const std::int64_t> items,
                  std::span<const float> scores);

 private:
  PairText text_;
  ResultIds ids_;
  TakeLine take_;
};

}  // namespace bulksim
