#pragma once

#include <memory>
#include <vector>

#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/checksum.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/job/progress.hpp"
#include "bulksim/storage/tile_files.hpp"

namespace bulksim {

/// Takes finished tiles to their place: hashes each stripe while it is in cache, writes it, and
/// notes the digest of the whole tile.
class TileOutput final : public TileSink {
 public:
  /// `files` and `progress` must outlive the output.
  TileOutput(const TileGrid& grid, TileFiles& files, Progress& progress);

  std::unique_ptr<TileWriter> make_writer() override;
  /// Digests by tile number; only those of finished tiles mean anything.
  const std::vector<Digest>& digests() const { return digests_; }

 private:
  class Writer;

  TileGrid grid_;
  TileFiles& files_;
  Progress& progress_;
  std::vector<Digest> digests_;  // each written by the one thread that has the tile
};

}  // namespace bulksim
