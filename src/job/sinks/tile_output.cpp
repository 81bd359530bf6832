#include "job/sinks/tile_output.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "core/half.hpp"
#include "storage/parts/tile_inspection.hpp"

namespace bulksim {

class TileOutput::Writer final : public TileWriter {
 public:
  explicit Writer(TileOutput& output) : output_(output) {}

  void begin(TileId tile) override {
    if (output_.options_.before_tile) output_.options_.before_tile();
    tile_ = tile;
    hasher_.reset();
    is_zero_ = true;
    partials_.clear();
  }

  void write(const TileStripe& stripe) override {
    partials_.insert(partials_.end(), stripe.partials.begin(), stripe.partials.end());
    const std::span<const float> values = as_stored(stripe.values);
    // ends at the first value that is not zero
    is_zero_ = is_zero_ && !values.empty() &&
               std::ranges::all_of(values, [](float value) { return value == 0.0F; });
    if (output_.files_.tiles() == nullptr) return;
    hasher_.update(std::as_bytes(values));
    if (output_.options_.most) output_.outside_ += count_outside(values, *output_.options_.most);
    output_.files_.tiles()->write(stripe.tile, stripe.first_row, values);
  }

  void finish() override {
    Digest digest = hasher_.digest();
    if (output_.files_.partials() != nullptr) {
      const Digest of_partials = output_.files_.partials()->write(tile_, partials_);
      if (output_.files_.tiles() == nullptr) digest = of_partials;
    }
    const std::int64_t number = output_.grid_.number(tile_);
    output_.digests_[number] = digest;
    if (output_.options_.log != nullptr) output_.options_.log->tile_done(number, digest);
    if (is_zero_) ++output_.zero_tiles_;
    output_.progress_.tile_done();
  }

 private:
  std::span<const float> as_stored(std::span<const float> values) {
    if (output_.options_.type == ValueType::kFloat32) return values;
    rounded_.resize(values.size());
    std::ranges::transform(values, rounded_.begin(),
                           [](float value) { return widen_half(round_to_half(value)); });
    return rounded_;
  }

  TileOutput& output_;
  TileId tile_;
  Hasher hasher_;
  bool is_zero_ = true;
  std::vector<float> rounded_;
  std::vector<SoftmaxPartial> partials_;
};

TileOutput::TileOutput(const TileGrid& grid, RunFiles& files, Progress& progress, Options options)
    : grid_(grid),
      files_(files),
      progress_(progress),
      options_(std::move(options)),
      digests_(grid.count()) {}

std::unique_ptr<TileWriter> TileOutput::make_writer() {
  return std::make_unique<Writer>(*this);
}

}  // namespace bulksim
