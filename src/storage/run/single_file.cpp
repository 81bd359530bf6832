#include "storage/run/single_file.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "bulksim/core/error.hpp"
#include "hdf5/file.hpp"
#include "storage/result/archive_comment.hpp"
#include "storage/result/pair_file.hpp"
#include "storage/result/result_path.hpp"
#include "storage/result/similarity_file.hpp"
#include "storage/result/text_format.hpp"
#include "storage/run/output_folder.hpp"

namespace bulksim {

namespace {

bool has_tsv_header(FileCalls& calls, const std::string& path) {
  const File file = File::open(calls, path, O_RDONLY | O_NOFOLLOW);
  std::string start(std::min<std::int64_t>(file.size(), 64), '\0');
  file.read(std::as_writable_bytes(std::span(start)), 0);
  return is_tsv_header(std::string_view(start).substr(0, start.find('\n')));
}

bool is_result_file(FileCalls& calls, const std::string& path) {
  switch (file_form(path).value_or(FileForm::kTrec)) {
    case FileForm::kHdf5:
      return h5::has_attribute(path, "complete");
    case FileForm::kNpz:
      return is_result_archive(calls, path);
    case FileForm::kTsv:
      return has_tsv_header(calls, path);
    case FileForm::kTrec:
    case FileForm::kNpy:
      return false;  // nothing in them tells
  }
  return false;
}

}  // namespace

bool holds_result_of(FileCalls& calls, const std::string& path, const Digest& plan) {
  const auto status = find_status(calls, path);
  if (!status || !S_ISREG(status->st_mode)) return false;
  if (plan_of_pair_file(calls, path) == plan.hex()) return true;
  if (file_form(path) != FileForm::kHdf5) return false;
  try {
    const auto result = SimilarityReader::open(calls, path);
    return find_attribute<std::string>(result.attributes(), "plan") == plan.hex();
  } catch (const Error& error) {
    if (error.code() == ExitCode::kDataError) return false;
    throw;
  }
}

void require_replaceable(FileCalls& calls, const std::string& path, Overwrite overwrite) {
  const auto status = find_status(calls, path);
  if (!status) return;
  if (!S_ISREG(status->st_mode)) throw not_ours(path, "exists and is not a file");
  if (overwrite == Overwrite::kAnyFile || is_result_file(calls, path)) return;
  throw Error(
      ExitCode::kCannotCreate,
      "'" + path +
          "' exists and cannot be recognized as a result of bulksim: choose another output, "
          "or replace it with --overwrite");
}

}  // namespace bulksim
