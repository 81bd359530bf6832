#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/file.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// Hashes finished tiles and writes them, with their partials, one after the other; starts again at
/// the beginning when the file is full.
class PilotOutput final : public TileSink {
 public:
  /// `file` must outlive the sink and has space for `most` bytes.
  PilotOutput(const File& file, ValueType type, std::int64_t most)
      : file_(file), type_(type), most_(most) {}

  std::unique_ptr<TileWriter> make_writer() override;
  /// The partials of a finished tile; empty without block sums.
  const std::vector<SoftmaxPartial>& partials_per_tile() const { return partials_; }

 private:
  class Writer;
  void write(std::span<const std::byte> bytes);

  const File& file_;
  ValueType type_;
  std::int64_t most_;
  std::atomic<std::int64_t> next_ = 0;
  std::mutex mutex_;
  std::vector<SoftmaxPartial> partials_;
};

/// Drops every pair.
class DroppedPairs final : public PairSink {
 public:
  std::unique_ptr<PairWriter> make_writer() override;
};

}  // namespace bulksim
