#include "backend/cuda/stream/group_filter.hpp"

#include <algorithm>
#include <limits>

namespace bulksim::cuda {

void GroupFilter::reserve(int tiles, const TileShape& tile) {
  const std::int64_t rows = tiles * tile.queries;
  shape_ = tile;
  staged_floors_.reserve(rows);
  totals_.reserve(tiles);
  floors_.reserve(rows);
  bits_.reserve(rows * row_words(tile.items));
  counts_.reserve(rows);
  firsts_.reserve(rows);
  device_totals_.reserve(tiles);
  candidates_.reserve(tiles * candidate_capacity(tile.cells()));
}

void GroupFilter::clear() {
  floors_.clear();
  bits_.clear();
  counts_.clear();
  firsts_.clear();
  device_totals_.clear();
  candidates_.clear();
}

void GroupFilter::launch(const TileGroup& group, const TileGrid& grid, std::int64_t items,
                         std::int64_t batch_rows, const PairFilter& filter, const Stream& compute) {
  filtered_.wait();  // the floors of the previous group have been copied
  const std::int64_t rows = group.tiles * grid.tile().queries;
  for (std::int64_t at = 0; at < rows; ++at) {
    const std::int64_t row = group.first_row[at / grid.tile().queries] + at % grid.tile().queries;
    staged_floors_.data()[at] =
        row < batch_rows ? filter.floor(row) : std::numeric_limits<float>::infinity();
  }
  upload(staged_floors_, floors_, rows, compute);
  const PairFilterSpec& spec = filter.spec();
  launch_filter(group, grid.tile().items, {spec.below, spec.nonzero_only, items, floors_.data()},
                {candidate_capacity(grid.tile().cells()), bits_.data(), counts_.data(),
                 firsts_.data(), device_totals_.data(), candidates_.data()},
                compute);
  download(device_totals_.data(), totals_, group.tiles, compute);
  filtered_.record(compute);
}

std::optional<std::int64_t> GroupFilter::candidates(int tile) const {
  filtered_.wait();
  const std::int64_t count = totals_.data()[tile];
  if (count > candidate_capacity(shape_.cells())) return std::nullopt;
  return count;
}

void GroupFilter::send_down(int tile, std::int64_t count, PinnedTile& to,
                            const Stream& stream) const {
  download(counts_.data() + tile * shape_.queries, to.counts, shape_.queries, stream);
  download(candidates_.data() + tile * candidate_capacity(shape_.cells()), to.candidates, count,
           stream);
}

}  // namespace bulksim::cuda
