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

/// Files that threads read and write concurrently, by offset.
///
/// Files are opened on first use and closed by `sync`, which is also called when 64 are open: a
/// process under `ulimit -n 256` can use any number of files.
class FilePool {
  struct OpenFile;

 public:
  /// A transfer in progress: `sync` waits for the users of a file before it syncs and closes it.
  class Use {
   public:
    /// The caller holds the mutex of the file's slot.
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

  /// Opens the file of `paths[place]` if necessary.
  Use use(std::size_t place);
  /// Makes everything durable that was written before this call. After a failure all further calls
  /// fail, because the system reports a lost page only once.
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
