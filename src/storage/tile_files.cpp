#include "bulksim/storage/tile_files.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "bulksim/core/half.hpp"

namespace bulksim {

namespace {

constexpr int kMostOpenFiles = 64;
constexpr std::size_t kHalvesAtOnce = 32'768;

using Halves = std::array<std::uint16_t, kHalvesAtOnce>;

void write_halves(const File& file, std::span<const float> values, std::int64_t at) {
  Halves halves;
  while (!values.empty()) {
    const auto some = values.first(std::min(values.size(), halves.size()));
    std::ranges::transform(some, halves.begin(), [](float value) { return round_to_half(value); });
    file.write(std::as_bytes(std::span(halves).first(some.size())), at);
    at += 2 * std::ssize(some);
    values = values.subspan(some.size());
  }
}

void read_halves(const File& file, std::span<float> to, std::int64_t at) {
  Halves halves;
  while (!to.empty()) {
    const auto some = std::span(halves).first(std::min(to.size(), halves.size()));
    file.read(std::as_writable_bytes(some), at);
    std::ranges::transform(some, to.begin(), [](std::uint16_t half) { return widen_half(half); });
    at += 2 * std::ssize(some);
    to = to.subspan(some.size());
  }
}

}  // namespace

struct TileFiles::OpenFile {
  File file;
  std::atomic<int> users = 0;
};

struct TileFiles::Slot {
  std::mutex mutex;
  std::shared_ptr<OpenFile> open;
};

/// A transfer at work: `sync` waits for those that use the file it is about to sync and close.
class TileFiles::Use {
 public:
  /// To be called under the mutex of the slot.
  explicit Use(std::shared_ptr<OpenFile> open) : open_(std::move(open)) { ++open_->users; }
  ~Use() {
    --open_->users;
    open_->users.notify_all();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Use(Use&&) = delete;
  Use& operator=(Use&&) = delete;

  const File& file() const { return open_->file; }

 private:
  std::shared_ptr<OpenFile> open_;
};

TileFiles::TileFiles(FileCalls& calls, const TileGrid& grid, std::vector<std::string> paths,
                     std::vector<PartLayout> layouts, TileAccess access)
    : calls_(calls),
      grid_(grid),
      paths_(std::move(paths)),
      layouts_(std::move(layouts)),
      access_(access),
      slots_(std::make_unique<Slot[]>(paths_.size())) {
  BULKSIM_EXPECT(paths_.size() == layouts_.size());
}

TileFiles::~TileFiles() = default;

void TileFiles::write(TileId tile, std::int64_t first_row, std::span<const float> values) {
  const std::size_t part = part_of(tile.column);
  const PartLayout& layout = layouts_[part];
  const std::int64_t at =
      layout.offset(grid_, tile) + first_row * grid_.tile().items * bytes_of(layout.type);
  BULKSIM_EXPECT(first_row * grid_.tile().items + std::ssize(values) <= grid_.tile().cells());
  const Use use_of_part = use(part);
  if (layout.type == ValueType::kFloat16) {
    write_halves(use_of_part.file(), values, at);
  } else {
    use_of_part.file().write(std::as_bytes(values), at);
  }
}

void TileFiles::read(TileId tile, std::span<float> to, std::int64_t first_cell) {
  const std::size_t part = part_of(tile.column);
  BULKSIM_EXPECT(first_cell + std::ssize(to) <= grid_.tile().cells());
  const PartLayout& layout = layouts_[part];
  const std::int64_t at = layout.offset(grid_, tile) + first_cell * bytes_of(layout.type);
  const Use use_of_part = use(part);
  if (layout.type == ValueType::kFloat16) {
    read_halves(use_of_part.file(), to, at);
  } else {
    use_of_part.file().read(std::as_writable_bytes(to), at);
  }
}

void TileFiles::sync() {
  const std::lock_guard one_at_a_time(syncing_);
  if (sync_failure_) std::rethrow_exception(sync_failure_);
  try {
    for (std::size_t part = 0; part < paths_.size(); ++part)
      sync_and_close(slots_[part]);
  } catch (...) {
    sync_failure_ = std::current_exception();
    throw;
  }
}

void TileFiles::sync_and_close(Slot& slot) {
  std::shared_ptr<OpenFile> open;
  {
    const std::lock_guard lock(slot.mutex);
    open.swap(slot.open);  // whoever comes now opens the file anew
  }
  if (!open) return;
  --open_files_;
  for (int users = open->users; users != 0; users = open->users)
    open->users.wait(users);
  if (access_ == TileAccess::kReadWrite) open->file.sync_data();
}

std::size_t TileFiles::part_of(std::int64_t tile_column) const {
  const auto after = std::partition_point(
      layouts_.begin(), layouts_.end(),
      [&](const PartLayout& layout) { return layout.tile_columns.end <= tile_column; });
  BULKSIM_EXPECT(after != layouts_.end());
  return static_cast<std::size_t>(after - layouts_.begin());
}

TileFiles::Use TileFiles::use(std::size_t part) {
  Slot& slot = slots_[part];
  {
    const std::lock_guard lock(slot.mutex);
    if (slot.open) return Use(slot.open);
  }
  if (open_files_ >= kMostOpenFiles) sync();
  const std::lock_guard lock(slot.mutex);
  if (!slot.open) {
    const int mode = access_ == TileAccess::kRead ? O_RDONLY : O_RDWR;
    auto open = std::make_shared<OpenFile>();
    open->file = File::open(calls_, paths_[part], mode | O_NOFOLLOW);
    slot.open = std::move(open);
    ++open_files_;
  }
  return Use(slot.open);
}

}  // namespace bulksim
