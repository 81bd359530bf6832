#include "storage/run/single_file.hpp"

#include <span>
#include <string_view>

#include "bulksim/core/error.hpp"
#include "hdf5/file.hpp"
#include "storage/result/pair_file.hpp"
#include "storage/result/result_path.hpp"
#include "storage/result/similarity_file.hpp"
#include "storage/run/output_folder.hpp"

namespace bulksim {

namespace {

bool is_result_file(FileCalls& calls, const std::string& path) {
  if (file_form(path) == FileForm::kHdf5) return h5::has_attribute(path, "complete");
  if (file_form(path) == FileForm::kNpz) return !plan_of_pair_file(calls, path).empty();
  const std::string_view header(kPairTextHeader);
  std::string start(header.size(), '\0');
  const File file = File::open(calls, path, O_RDONLY | O_NOFOLLOW);
  if (file.size() < std::ssize(start)) return false;
  file.read(std::as_writable_bytes(std::span(start)), 0);
  return start == header;
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

void require_replaceable(FileCalls& calls, const std::string& path) {
  const auto status = find_status(calls, path);
  if (!status) return;
  if (!S_ISREG(status->st_mode)) throw not_ours(path, "exists and is not a file");
  if (!is_result_file(calls, path)) throw not_ours(path, "is not a result of bulksim");
}

}  // namespace bulksim
