#pragma once

#include <optional>
#include <string>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// Where the result of a run goes; the suffix of the path decides.
enum class OutputForm {
  kVersions,    ///< a folder with numbered versions and CURRENT
  kSingleFile,  ///< one ordinary file, by temp and rename
};

OutputForm output_form(const std::string& output);

/// How a result in one file is stored.
enum class FileForm { kHdf5, kNpz, kTsv };

/// By the suffix of the path; nothing for a folder.
std::optional<FileForm> file_form(const std::string& path);

/// The folder beside a single-file result that holds its lease and staging while it is at work.
std::string work_folder_of_file(const std::string& output);

/// The file of a result: `path` itself, or similarity.h5 of the newest or this version. Throws
/// Error (66) when there is none.
std::string find_result(FileCalls& calls, const std::string& path);

}  // namespace bulksim
