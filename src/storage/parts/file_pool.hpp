#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"

namespace bulksim {

enum class TileAccess { kRead, kReadWrite };

/// Files that any number of threads read and write by position.
///
/// They are opened when they are needed and closed by `sync`, which also happens when more than 64
/// are open: a process under `ulimit -n 256` can work on any number of them.
class FilePool {
  struct OpenFile;

 public:
  /// A transfer at work: `sync` waits for those that use the file it is about to sync and close.
  class Use {
   public:
    /// To be called under the mutex of the file's slot.
    explicit Use(std::shared_ptr<OpenFile> open);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    Use(Use&&) = delete;
    Use& operator=(Use&&) = delete;

    const File& file() const;

   private:
    std::shared_ptr<OpenFile> open_;
  };

  FilePool(FileCalls& calls, std::vector<std::string> paths, TileAccess access);
  ~FilePool();
  FilePool(const FilePool&) = delete;
  FilePool& operator=(const FilePool&) = delete;
  FilePool(FilePool&&) = delete;
  FilePool& operator=(FilePool&&) = delete;

  /// The file of a path, by its place.
  Use use(std::size_t place);
  /// Makes durable everything that was written before this call. Once it has failed it fails for
  /// good: the system reports a lost page only once.
  void sync();

 private:
  struct Slot;
  void sync_and_close(Slot& slot);

  FileCalls& calls_;
  std::vector<std::string> paths_;
  TileAccess access_;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<int> open_files_ = 0;
  std::mutex syncing_;
  std::exception_ptr sync_failure_;
};

}  // namespace bulksim
