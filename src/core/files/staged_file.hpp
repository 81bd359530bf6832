#pragma once

#include <string>

#include "bulksim/core/file.hpp"
#include "core/files/file_appender.hpp"

namespace bulksim {

/// A file that gets its name when it is complete. Until then it has none (O_TMPFILE), so that a
/// killed process leaves nothing behind; where the file system does not support that, it has a
/// unique name, which the destructor removes.
class StagedFile {
 public:
  /// Creates the file in the folder of `path`, open for reading and writing.
  StagedFile(FileCalls& calls, std::string path);
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;
  StagedFile(StagedFile&&) = delete;
  StagedFile& operator=(StagedFile&&) = delete;

  const File& file() const { return file_; }
  /// The name that the file will have.
  const std::string& path() const { return path_; }
  /// Syncs the file and gives it its name; what has that name is replaced. Of several processes
  /// that do so at the same time, the last one wins.
  void publish();
  /// Like `publish`, but throws Error (73) when the name exists.
  void publish_new();

 private:
  bool link_to(const std::string& name);
  void replace();

  FileCalls& calls_;
  std::string path_;
  File file_;
  std::string name_;  ///< until it is published; empty: none
};

/// Whether this is the name of a file that is not complete, or was not when its process was killed.
bool is_staged_name(const std::string& name);

/// Removes the files in a folder that killed processes left, on a file system where they have
/// names. Nobody else may be writing there.
void remove_staged_leftovers(FileCalls& calls, const std::string& folder);

/// Writes a file that appears when it is complete; `fill` appends to it. Returns its digest.
template <class Fill>
Digest write_file(FileCalls& calls, const std::string& path, const Fill& fill) {
  StagedFile staged(calls, path);
  FileAppender out(staged.file(), 0);
  fill(out);
  out.flush();
  staged.publish();
  return out.digest();
}

}  // namespace bulksim
