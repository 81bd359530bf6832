#pragma once

#include <string>

#include "bulksim/core/file.hpp"
#include "core/run/host.hpp"
#include "core/run/log.hpp"

namespace bulksim {

/// A hidden folder in `place` for temporary files of one process, removed with this object. The
/// constructor removes leftovers of killed processes of this machine.
class ProcessFolder {
 public:
  /// Only chooses the name: the folder is created by the code that writes to it.
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
