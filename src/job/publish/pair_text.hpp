#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "storage/parts/result_ids.hpp"

namespace bulksim {

/// Lines of a text with pairs.
enum class PairText {
  kTsv,   ///< query, item, score, tabs between, and a first line that says so
  kTrec,  ///< query Q0 item rank score bulksim
};

/// Makes text of pairs, with the ids of rows where there are any, and hands it over line by line.
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
