#include "job/publish/pair_text.hpp"

#include <cstdio>
#include <string>
#include <utility>

#include "storage/result/pair_file.hpp"

namespace bulksim {

namespace {

std::string name_of(const StringTable& ids, std::int64_t row) {
  return ids.empty() ? std::to_string(row) : std::string(ids[row]);
}

}  // namespace

PairTextWriter::PairTextWriter(PairText text, ResultIds ids, TakeLine take)
    : text_(text), ids_(std::move(ids)), take_(std::move(take)) {
  if (text_ == PairText::kTsv) take_(kPairTextHeader);
}

void PairTextWriter::append_row(std::int64_t query, std::span<const std::int64_t> items,
                                std::span<const float> scores) {
  const bool trec = text_ == PairText::kTrec;
  const std::string start = name_of(ids_.queries, query) + (trec ? " Q0 " : "\t");
  for (std::size_t at = 0; at < items.size(); ++at) {
    char rest[64];
    if (trec) {
      std::snprintf(rest, sizeof rest, " %zu %.9g bulksim\n", at + 1,
                    static_cast<double>(scores[at]));
    } else {
      std::snprintf(rest, sizeof rest, "\t%.9g\n", static_cast<double>(scores[at]));
    }
    take_(start + name_of(ids_.items, items[at]) + rest);
  }
}

}  // namespace bulksim
