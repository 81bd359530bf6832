#pragma once

#include <string>

#include "bulksim/core/file.hpp"
#include "core/run/host.hpp"
#include "core/run/log.hpp"

namespace bulksim {

/// A hidden folder in `place` for what one process needs for a while; it goes with this object.
/// What killed processes of this machine have left there goes when it is named.
class ProcessFolder {
 public:
  /// Only names the folder: it is made by who puts something there.
  ProcessFolder(FileCalls& calls, const std::string& place, Log& log);
  ~ProcessFolder() { remove(); }
  ProcessFolder(const ProcessFolder&) = delete;
  ProcessFolder& operator=(const ProcessFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Files that are open can still be read. What cannot be removed is a warning.
  void remove();

 private:
  std::string prefix() const;
  void remove_dead(const std::string& place);

  FileCalls& calls_;
  Log& log_;
  ProcessInfo self_ = this_process();
  std::string path_;
};

}  // namespace bulksim
