#include "bulksim/job/tile_output.hpp"

#include <span>

namespace bulksim {

class TileOutput::Writer final : public TileWriter {
 public:
  explicit Writer(TileOutput& output) : output_(output) {}

  void begin(TileId tile) override {
    tile_ = tile;
    hasher_.reset();
  }

  void write(const TileStripe& stripe) override {
    hasher_.update(std::as_bytes(stripe.values));
    output_.files_.write(stripe.tile, stripe.first_row, stripe.values);
  }

  void finish() override {
    output_.digests_[static_cast<std::size_t>(output_.grid_.number(tile_))] = hasher_.digest();
    output_.progress_.tile_done();
  }

 private:
  TileOutput& output_;
  TileId tile_;
  Hasher hasher_;
};

TileOutput::TileOutput(const TileGrid& grid, TileFiles& files, Progress& progress)
    : grid_(grid),
      files_(files),
      progress_(progress),
      digests_(static_cast<std::size_t>(grid.count())) {}

std::unique_ptr<TileWriter> TileOutput::make_writer() {
  return std::make_unique<Writer>(*this);
}

}  // namespace bulksim
