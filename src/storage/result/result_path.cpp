#include "storage/result/result_path.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

constexpr std::array<std::pair<std::string_view, FileForm>, 5> kForms{{{".h5", FileForm::kHdf5},
                                                                       {".npz", FileForm::kNpz},
                                                                       {".tsv", FileForm::kTsv},
                                                                       {".trec", FileForm::kTrec},
                                                                       {".npy", FileForm::kNpy}}};

/// The ending of a name, ".h5"; "" for a folder.
std::string_view ending_of(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  const auto dot = name.find_last_of('.');
  const bool has_ending = dot != std::string_view::npos && dot > 0 && name != "..";
  return has_ending ? name.substr(dot) : std::string_view();
}

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
  if (path == "-") return FileForm::kTsv;
  const auto* form =
      std::ranges::find(kForms, ending_of(path), &decltype(kForms)::value_type::first);
  return form == kForms.end() ? std::nullopt : std::optional(form->second);
}

void require_known_ending(const std::string& path) {
  if (file_form(path) || ending_of(path).empty()) return;
  throw Error(ExitCode::kUsage,
              "'" + path +
                  "' has no ending of a result: use .h5, .npz, .tsv, .trec or .npy, - for text on "
                  "the standard output, or a folder, which has no ending or a / at its end");
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
