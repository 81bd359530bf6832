#include "storage/result/result_path.hpp"

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

/// The same path; HDF5 would wait for the writer of a pipe.
std::string file_at(FileCalls& calls, const std::string& path) {
  File::open_input(calls, path);
  return path;
}

}  // namespace

std::string work_folder_of_file(const std::string& output) {
  return parent_of(output) + "/." + output.substr(output.find_last_of('/') + 1) + ".bulksim";
}

OutputForm output_form(const std::string& output) {
  return file_form(output) ? OutputForm::kSingleFile : OutputForm::kVersions;
}

std::optional<FileForm> file_form(const std::string& path) {
  if (path.ends_with(".h5")) return FileForm::kHdf5;
  if (path.ends_with(".npz")) return FileForm::kNpz;
  if (path.ends_with(".tsv")) return FileForm::kTsv;
  return std::nullopt;
}

std::string find_result(FileCalls& calls, const std::string& path) {
  if (!exists(calls, path)) throw Error(ExitCode::kNoInput, "there is no result '" + path + "'");
  const std::string place = real_path(calls, path);
  if (!is_directory(calls, place)) return file_at(calls, place);
  for (const char* name : {"/CURRENT/similarity.h5", "/similarity.h5"}) {
    if (exists(calls, place + name)) return file_at(calls, real_path(calls, place + name));
  }
  throw Error(ExitCode::kNoInput, "the folder '" + path +
                                      "' contains no finished result (neither CURRENT nor "
                                      "similarity.h5)");
}

}  // namespace bulksim
