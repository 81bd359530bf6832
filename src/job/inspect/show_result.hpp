#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/types.hpp"
#include "core/text/json.hpp"
#include "job/blocks/strongest_blocks.hpp"
#include "job/inspect/strongest_pairs.hpp"
#include "storage/parts/part_layout.hpp"

namespace bulksim {

/// A pair of a result with the ids of its rows, where the result has ids.
struct ShownPair {
  ScoredPair pair;
  std::optional<std::string> query_id;
  std::optional<std::string> item_id;
};

/// The contents of a finished result; the members that are set depend on the kind.
struct ResultDescription {
  enum class Kind { kScores, kPairs, kBlockSums };

  Kind kind = Kind::kScores;
  std::string file;
  MatrixShape shape;
  ValueType value_type = ValueType::kFloat32;  ///< of scores
  std::int64_t pairs = 0;                      ///< of a result of pairs
  std::string group;                           ///< that holds them in the file
  double softmax_scale = 0.0;                  ///< of block sums
  MatrixShape blocks;                          ///< rows and columns of blocks
  TileShape block;                             ///< extent of one block
  std::optional<std::string> backend;          ///< that computed it
  std::optional<std::vector<std::string>> devices;
  FileAttributes attributes;
  std::int64_t rows_read = 0;  ///< rows in which the strongest pairs were searched
  std::vector<ShownPair> strongest;
  std::vector<StrongBlock> strongest_blocks;

  std::string to_json() const;
  std::string to_text() const;
};

}  // namespace bulksim
