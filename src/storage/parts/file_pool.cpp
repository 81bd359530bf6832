#include "storage/parts/file_pool.hpp"

#include <utility>

namespace bulksim {

namespace {

constexpr int kMostOpenFiles = 64;

}  // namespace

struct FilePool::OpenFile {
  File file;
  std::atomic<int> users = 0;
};

struct FilePool::Slot {
  std::mutex mutex;
  std::shared_ptr<OpenFile> open;
};

FilePool::Use::Use(std::shared_ptr<OpenFile> open) : open_(std::move(open)) {
  ++open_->users;
}

FilePool::Use::~Use() {
  --open_->users;
  open_->users.notify_all();
}

const File& FilePool::Use::file() const {
  return open_->file;
}

FilePool::FilePool(FileCalls& calls, std::vector<std::string> paths, TileAccess access)
    : calls_(calls),
      paths_(std::move(paths)),
      access_(access),
      slots_(std::make_unique<Slot[]>(paths_.size())) {}

FilePool::~FilePool() = default;

void FilePool::sync() {
  const std::lock_guard one_at_a_time(syncing_);
  if (sync_failure_) std::rethrow_exception(sync_failure_);
  try {
    for (std::size_t place = 0; place < paths_.size(); ++place)
      sync_and_close(slots_[place]);
  } catch (...) {
    sync_failure_ = std::current_exception();
    throw;
  }
}

void FilePool::sync_and_close(Slot& slot) {
  std::shared_ptr<OpenFile> open;
  {
    const std::lock_guard lock(slot.mutex);
    open.swap(slot.open);  // later users open the file again
  }
  if (!open) return;
  --open_files_;
  for (int users = open->users; users != 0; users = open->users)
    open->users.wait(users);
  if (access_ == TileAccess::kReadWrite) open->file.sync_data();
}

FilePool::Use FilePool::use(std::size_t place) {
  Slot& slot = slots_[place];
  {
    const std::lock_guard lock(slot.mutex);
    if (slot.open) return Use(slot.open);
  }
  if (open_files_ >= kMostOpenFiles) sync();
  const std::lock_guard lock(slot.mutex);
  if (!slot.open) {
    const int mode = access_ == TileAccess::kRead ? O_RDONLY : O_RDWR;
    auto open = std::make_shared<OpenFile>();
    open->file = File::open(calls_, paths_[place], mode | O_NOFOLLOW);
    slot.open = std::move(open);
    ++open_files_;
  }
  return Use(slot.open);
}

}  // namespace bulksim
