#include "bulksim/storage/tile_files.hpp"

#include <algorithm>
#include <utility>

namespace bulksim {

namespace {

constexpr int kMostOpenFiles = 64;
constexpr auto kValueBytes = static_cast<std::int64_t>(sizeof(float));

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
  const std::int64_t at =
      layouts_[part].offset(grid_, tile) + first_row * grid_.tile().items * kValueBytes;
  BULKSIM_EXPECT(first_row * grid_.tile().items + std::ssize(values) <= grid_.tile().cells());
  use(part).file().write(std::as_bytes(values), at);
}

void TileFiles::read(TileId tile, std::span<float> to, std::int64_t first_cell) {
  const std::size_t part = part_of(tile.column);
  BULKSIM_EXPECT(first_cell + std::ssize(to) <= grid_.tile().cells());
  use(part).file().read(std::as_writable_bytes(to),
                        layouts_[part].offset(grid_, tile) + first_cell * kValueBytes);
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
