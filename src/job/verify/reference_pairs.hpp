#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/backend/pair_filter_spec.hpp"
#include "bulksim/core/checksum.hpp"
#include "bulksim/sparse/fixed_point.hpp"
#include "bulksim/sparse/quantized_rows.hpp"
#include "formats/shared/column_map.hpp"
#include "storage/result/pair_file.hpp"

namespace bulksim {

/// Pairs of one query as a result has them.
struct PairRow {
  std::int64_t query = 0;
  std::vector<ScoredItem> pairs;
};

/// Holds the pairs of up to 64 queries, spread over all, against the inputs of a result.
class PairRecomputation {
 public:
  /// Without a cut, pairs may be missing unnoticed. The reader must outlive this.
  PairRecomputation(const PairFileReader& reader, std::optional<PairFilterSpec> filter);

  bool wants(std::int64_t query) const;
  /// The pairs of a query that is wanted.
  void note(PairRow row);
  /// Calls `fault` for each query whose pairs are not those of the inputs. Returns the number of
  /// cells that were computed. Throws Error (65) when these are not the inputs of the result.
  std::int64_t run(const SourcePair& inputs,
                   const std::function<void(std::int64_t query, const std::string& what)>& fault);

 private:
  void pick(std::int64_t first, const QuantizedRows& units, QuantizedRows& queries) const;
  std::string compare(std::size_t at, const QuantizedRows& queries, std::int64_t first,
                      const QuantizedRows& items, std::size_t& place) const;
  bool is_missing(const PairRow& row, std::int64_t item, float score) const;

  std::optional<PairFilterSpec> filter_;
  FixedPoint arithmetic_;
  Digest query_content_;
  Digest item_content_;
  std::vector<PairRow> rows_;  // pairs by item
};

}  // namespace bulksim
