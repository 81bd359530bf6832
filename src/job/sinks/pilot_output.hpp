#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/file.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// Hashes finished tiles and writes them, with their partials, one after the other; starts again at
/// the beginning when the file is full. Keeps the partials.
class PilotOutput final : public TileSink {
 public:
  /// `file` must outlive the sink and has space for `most` bytes.
  PilotOutput(const File& file, ValueType type, std::int64_t most)
      : file_(file), type_(type), most_(most) {}

  std::unique_ptr<TileWriter> make_writer() override;
  /// Copies the partials of a finished tile.
  void read_partials(TileId tile, std::span<SoftmaxPartial> to) const;

 private:
  class Writer;
  void write(std::span<const std::byte> bytes);

  const File& file_;
  ValueType type_;
  std::int64_t most_;
  std::atomic<std::int64_t> next_ = 0;
  std::mutex mutex_;
  std::map<TileId, std::vector<SoftmaxPartial>> partials_;
};

}  // namespace bulksim
