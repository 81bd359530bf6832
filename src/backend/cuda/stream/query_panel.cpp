#include "backend/cuda/stream/query_panel.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace bulksim::cuda {

namespace {

constexpr int kLanes = 32;

/// Labels that occur in some query rows, ascending.
std::vector<std::uint32_t> labels_of(const QuantizedRows& queries, RowRange rows,
                                     const Vocabulary& vocabulary) {
  std::vector<std::uint32_t> labels;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (const Column column : queries.columns_of(row))
      labels.push_back(vocabulary.label(column));
  }
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

void fill_look(const std::vector<std::uint32_t>& labels, const PinnedBuffer<uint2>& look) {
  std::fill(look.data(), look.data() + look.size(), uint2{0, 0});
  for (const std::uint32_t label : labels)
    look.data()[label / 32].x |= 1U << (label % 32);
  unsigned before = 0;
  for (std::int64_t word = 0; word < look.size(); ++word) {
    look.data()[word].y = before;
    before += std::popcount(look.data()[word].x);
  }
}

}  // namespace

QueryPanel::QueryPanel(const QuantizedRows& queries, RowRange rows, const Vocabulary& vocabulary,
                       const Stream& stream)
    : queries_(static_cast<int>(rows.size())) {
  const auto labels = labels_of(queries, rows, vocabulary);
  const PinnedBuffer<uint2> look((std::int64_t{vocabulary.size()} + 31) / 32);
  const PinnedBuffer<int4> dense(std::ssize(labels) * kLanes);
  fill_look(labels, look);
  std::fill(dense.data(), dense.data() + dense.size(), int4{0, 0, 0, 0});
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const auto columns = queries.columns_of(row);
    const auto values = queries.values_of(row);
    const std::int64_t query = row - rows.begin;
    for (std::size_t at = 0; at < columns.size(); ++at) {
      const auto label =
          std::lower_bound(labels.begin(), labels.end(), vocabulary.label(columns[at]));
      int4& four = dense.data()[(label - labels.begin()) * kLanes + query / 4];
      int* const places[] = {&four.x, &four.y, &four.z, &four.w};
      *places[query % 4] = values[at];
    }
  }
  look_.reserve(look.size());
  rows_.reserve(dense.size());
  upload(look, look_, look.size(), stream);
  upload(dense, rows_, dense.size(), stream);
  stream.wait();
}

}  // namespace bulksim::cuda
