#include "job/sinks/pilot_output.hpp"

#include <algorithm>
#include <utility>

#include "bulksim/core/checksum.hpp"

namespace bulksim {

class PilotOutput::Writer final : public TileWriter {
 public:
  explicit Writer(PilotOutput& output) : output_(output) {}

  void begin(TileId tile) override {
    tile_ = tile;
    hasher_.reset();
    partials_.clear();
  }
  void write(const TileStripe& stripe) override {
    partials_.insert(partials_.end(), stripe.partials.begin(), stripe.partials.end());
    const auto size = stripe.values.size() * static_cast<std::size_t>(bytes_of(output_.type_));
    const auto bytes = std::as_bytes(stripe.values).first(size);
    hasher_.update(bytes);
    output_.write(bytes);
  }
  void finish() override {
    hasher_.digest();
    output_.write(std::as_bytes(std::span(std::as_const(partials_))));
    const std::lock_guard lock(output_.mutex_);
    output_.partials_[tile_] = partials_;
  }

 private:
  PilotOutput& output_;
  TileId tile_;
  Hasher hasher_;
  std::vector<SoftmaxPartial> partials_;
};

std::unique_ptr<TileWriter> PilotOutput::make_writer() {
  return std::make_unique<Writer>(*this);
}

void PilotOutput::read_partials(TileId tile, std::span<SoftmaxPartial> to) const {
  std::ranges::copy(partials_.at(tile), to.begin());
}

void PilotOutput::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  file_.write(bytes, next_.fetch_add(bytes.size()) % most_);
}

}  // namespace bulksim
