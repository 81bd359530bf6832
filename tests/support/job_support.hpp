#pragma once

// Shared by tests of whole jobs in one process.

#include <filesystem>
#include <map>
#include <string>

#include "bulksim/core/file.hpp"
#include "comm/mpi_environment.hpp"
#include "core/run/log.hpp"
#include "job/compute_job.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {

/// Inputs and an output folder of one test, and runs with them in this process.
class JobBench {
 public:
  JobBench() {
    config.items = folder / "items.csr";
    config.queries = folder / "queries.csr";
    config.output = folder / "out";
    config.threads = 2;
    config.tile = TileShape{32, 256};
    config.parts = 4;
    write_csr(config.items, random_rows(3'000, 300, 10, 41));
    write_csr(config.queries, random_rows(120, 300, 10, 42));
  }

  /// Returns the code of the error, or 0; sets `sentence`.
  int run(FileCalls& calls = system_file_calls()) {
    Log log({.level = LogLevel::kError});
    try {
      result = run_compute(config, {mpi, calls, log});
      return 0;
    } catch (const Error& error) {
      sentence = error.what();
      return static_cast<int>(error.code());
    }
  }

  std::string version() const { return std::filesystem::canonical(config.output + "/CURRENT"); }

  /// Files of the current version except the reports, by name.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> files;
    const std::filesystem::path root = version();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      const std::string name = std::filesystem::relative(entry.path(), root).string();
      if (entry.is_regular_file() && !name.starts_with("report.")) {
        files[name] = read_file(entry.path());
      }
    }
    return files;
  }

  TemporaryFolder folder;
  MpiEnvironment mpi;
  JobConfig config;
  std::string result;
  std::string sentence;
};

}  // namespace bulksim::test
