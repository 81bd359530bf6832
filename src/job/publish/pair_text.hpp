#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "storage/parts/result_ids.hpp"
#include "storage/result/result_path.hpp"

namespace bulksim {

/// How pairs are written as text, one line each.
struct PairText {
  /// kTsv: query, item, score, separated by tabs, after a line of column names; or kTrec, a TREC
  /// run: query Q0 item rank score tag.
  FileForm form = FileForm::kTsv;
  std::string tag = "bulksim";  ///< of a TREC run
  /// In a TREC run, which separates fields by blanks, ids get `_` for their blanks; otherwise such
  /// ids are refused.
  bool replace_blanks = false;
  /// Leaves out pairs with score 0, as in the lists of a top-k of queries with few matches.
  bool nonzero_only = false;
};

/// Formats pairs, with the ids of rows where there are any, and passes on each line. In a TSV the
/// characters tab, line feed, carriage return and backslash of ids become \t, \n, \r and \\; then
/// the name of their column is `query_escaped` or `item_escaped`.
class PairTextWriter {
 public:
  using TakeLine = std::function<void(std::string_view line)>;

  /// Throws Error (65), with id and row, for an id that a TREC run cannot hold.
  PairTextWriter(PairText text, ResultIds ids, TakeLine take);

  void append_row(std::int64_t query, std::span<const std::int64_t> items,
                  std::span<const float> scores);

 private:
  PairText text_;
  ResultIds ids_;
  TakeLine take_;
  std::string line_;
};

}  // namespace bulksim
