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

/// The pairs of one query in a result.
struct PairRow {
  std::int64_t query = 0;
  std::vector<ScoredItem> pairs;
};

/// From what pairs are recomputed.
struct PairReference {
  const SourcePair& inputs;
  /// What a result that does not hold these was computed with.
  std::optional<PairFilterSpec> filter;
  Metric metric = Metric::kCosine;
  ResultIds ids = {};  ///< of the rows, as in a text result
};

/// Recomputes the pairs of up to 64 queries, spread over all, from the inputs of a result.
class PairRecomputation {
 public:
  /// `attributes` are those of the result; what they lack is taken from `reference`, and the
  /// content of the inputs is then not compared. Without any filter, missing pairs are not noticed.
  PairRecomputation(MatrixShape shape, const FileAttributes& attributes,
                    const PairReference& reference);

  bool wants(std::int64_t query) const;
  /// Records the pairs of a chosen query.
  void note(PairRow row);
  /// Calls `fault` for each wrong pair of a query. Returns the number of cells that were computed.
  /// Throws Error (65) when these are not the inputs of the result.
  std::int64_t run(const std::function<void(std::int64_t query, const std::string& what)>& fault);

 private:
  void pick(std::int64_t first, const QuantizedRows& quantized, QuantizedRows& queries) const;
  std::string compare(std::size_t at, const QuantizedRows& queries, std::int64_t first,
                      const QuantizedRows& items, std::size_t& place) const;
  bool is_missing(const PairRow& row, std::int64_t item, float score) const;

  const SourcePair& inputs_;
  std::optional<PairFilterSpec> filter_;
  FixedPoint arithmetic_;
  std::optional<Digest> query_content_;
  std::optional<Digest> item_content_;
  std::vector<PairRow> rows_;  // pairs by item
};

}  // namespace bulksim
