#pragma once

#include <string>
#include <utility>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// A temporary file; the destructor removes it unless it was renamed.
class ScratchFile {
 public:
  /// Removes a leftover of a killed run.
  ScratchFile(FileCalls& calls, const std::string& neighbour)
      : calls_(calls), path_(neighbour + ".tmp") {
    remove_file(calls_, path_);
  }
  ~ScratchFile() { calls_.unlink(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ScratchFile(ScratchFile&&) = delete;
  ScratchFile& operator=(ScratchFile&&) = delete;

  const std::string& path() const { return path_; }

 private:
  FileCalls& calls_;
  std::string path_;
};

}  // namespace bulksim
