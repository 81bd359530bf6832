#include "bulksim/job/tile_output.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "bulksim/storage/tile_inspection.hpp"

namespace bulksim {

class TileOutput::Writer final : public TileWriter {
 public:
  explicit Writer(TileOutput& output) : output_(output) {}

  void begin(TileId tile) override {
    if (output_.options_.before_tile) output_.options_.before_tile();
    tile_ = tile;
    hasher_.reset();
    is_zero_ = true;
  }

  void write(const TileStripe& stripe) override {
    hasher_.update(std::as_bytes(stripe.values));
    if (output_.options_.check == ValueCheck::kCosines) {
      output_.outside_ += count_outside(stripe.values);
    }
    // ends at the first value that is not zero
    is_zero_ = is_zero_ && std::all_of(stripe.values.begin(), stripe.values.end(),
                                       [](float value) { return value == 0.0F; });
    output_.files_.write(stripe.tile, stripe.first_row, stripe.values);
  }

  void finish() override {
    const std::int64_t number = output_.grid_.number(tile_);
    const Digest digest = hasher_.digest();
    output_.digests_[static_cast<std::size_t>(number)] = digest;
    if (output_.options_.log != nullptr) output_.options_.log->tile_done(number, digest);
    if (is_zero_) ++output_.zero_tiles_;
    output_.progress_.tile_done();
  }

 private:
  TileOutput& output_;
  TileId tile_;
  Hasher hasher_;
  bool is_zero_ = true;
};

TileOutput::TileOutput(const TileGrid& grid, TileFiles& files, Progress& progress, Options options)
    : grid_(grid),
      files_(files),
      progress_(progress),
      options_(std::move(options)),
      digests_(static_cast<std::size_t>(grid.count())) {}

std::unique_ptr<TileWriter> TileOutput::make_writer() {
  return std::make_unique<Writer>(*this);
}

}  // namespace bulksim
