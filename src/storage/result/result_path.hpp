#pragma once

#include <optional>
#include <string>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// Form of the output, determined by the ending of its path.
enum class OutputForm {
  kVersions,    ///< a folder with numbered versions and CURRENT
  kSingleFile,  ///< one file, written beside its path and renamed
};

OutputForm output_form(const std::string& output);

/// Format of a single file: .h5, .npz, .tsv, .trec or .npy.
enum class FileForm { kHdf5, kNpz, kTsv, kTrec, kNpy };

/// The format for the ending of the path; nothing for a folder. "-", the standard output, is a TSV.
std::optional<FileForm> file_form(const std::string& path);

/// Whether pairs in this format are lines of text.
inline bool is_text(std::optional<FileForm> form) {
  return form == FileForm::kTsv || form == FileForm::kTrec;
}

/// Throws Error (64), with the list, for an output with an ending that stands for no format.
void require_known_ending(const std::string& path);

/// The folder beside a single-file result that contains its lease and staging during the run.
std::string work_folder_of_file(const std::string& output);

/// The file of a result: `path` itself, or similarity.h5 of this or the current version. Throws
/// Error (66) when there is none.
std::string find_result(FileCalls& calls, const std::string& path);

}  // namespace bulksim
