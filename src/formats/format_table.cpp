#include "formats/format_table.hpp"

#include <algorithm>
#include <cerrno>

#include "bulksim/core/error.hpp"
#include "formats/jsonl/jsonl.hpp"
#include "formats/npz/npz.hpp"
#include "formats/shared/input_files.hpp"
#include "formats/spmat/spmat.hpp"
#include "formats/store/block_sparse_store.hpp"

namespace bulksim {

std::span<const InputFormat> input_formats() {
  static const std::vector<InputFormat> formats{
      {.name = "spmat",
       .suffixes = {".csr"},
       .description = "big-ann spmat",
       .open_by_ranges = open_spmat},
      {.name = "store",
       .suffixes = {".h5"},
       .description = "made by bulksim import",
       .magic = {kStoreMagic.data(), kStoreMagic.size()},
       .open_by_ranges = open_block_sparse_store},
      {.name = "npz",
       .suffixes = {".npz"},
       .description = "scipy.sparse.save_npz",
       .magic = "PK\3\4",
       .open_rows = open_npz},
      {.name = "jsonl",
       .suffixes = {kJsonlSuffixes.begin(), kJsonlSuffixes.end()},
       .description = "a JSON object per line",
       .folders = Folders::kAreOneMatrix,
       .open_rows = open_jsonl},
  };
  return formats;
}

namespace {

std::string joined(std::span<const std::string_view> words, std::string_view separator) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

/// ".csr (big-ann spmat), .. or .jsonl, .jsonl.gz (..)": every format with its suffixes.
std::string described_formats() {
  const auto formats = input_formats();
  std::string text;
  for (const InputFormat& format : formats) {
    if (&format != &formats.front()) text += &format == &formats.back() ? " or " : ", ";
    text += joined(format.suffixes, ", ") + " (" + std::string(format.description) + ")";
  }
  return text;
}

/// The format suggested by the content of a file with an unknown suffix; empty when there is none.
std::string content_hint(FileCalls& calls, const std::string& path) {
  for (const InputFormat& format : input_formats()) {
    if (format.magic.empty() || !starts_with(calls, path, format.magic)) continue;
    return "; its content looks like " + std::string(format.suffixes.front());
  }
  return {};
}

/// Suffixes of the formats in which a folder can be a matrix.
std::string folder_suffixes() {
  std::vector<std::string_view> suffixes;
  for (const InputFormat& format : input_formats()) {
    if (format.folders == Folders::kRefused) continue;
    suffixes.insert(suffixes.end(), format.suffixes.begin(), format.suffixes.end());
  }
  return joined(suffixes, " or ");
}

}  // namespace

const InputFormat* find_format(FileCalls& calls, const std::string& path) {
  const bool folder = leads_to_directory(calls, path);
  const auto fits = [&](const InputFormat& format) {
    if (!folder) return has_suffix(path, format.suffixes);
    return format.folders == Folders::kAreOneMatrix &&
           !names_with_suffix(calls, path, format.suffixes).empty();
  };
  const auto formats = input_formats();
  const auto found = std::find_if(formats.begin(), formats.end(), fits);
  return found == formats.end() ? nullptr : &*found;
}

const InputFormat& format_of(FileCalls& calls, const std::string& path) {
  if (!exists(calls, path)) throw system_error("open", path, ENOENT);
  if (const InputFormat* format = find_format(calls, path)) return *format;
  if (leads_to_directory(calls, path)) {
    throw Error(ExitCode::kDataError,
                "'" + path + "' is a folder without any " + folder_suffixes() + " file");
  }
  throw Error(ExitCode::kDataError, "'" + path +
                                        "' is not in a known format: its name must end in " +
                                        described_formats() + content_hint(calls, path));
}

std::string InputFormat::suffix_text() const {
  return joined(suffixes, " or ");
}

std::string known_suffixes() {
  std::vector<std::string_view> suffixes;
  for (const InputFormat& format : input_formats())
    suffixes.insert(suffixes.end(), format.suffixes.begin(), format.suffixes.end());
  return joined(suffixes, ", ");
}

std::unique_ptr<MatrixSource> open_matrix(FileCalls& calls, const std::string& path) {
  return open_matrix(calls, path, path);
}

std::unique_ptr<MatrixSource> open_matrix(FileCalls& calls, const std::string& path,
                                          const std::string& name) {
  const InputFormat& format = format_of(calls, path);
  if (format.is_read_by_ranges()) return format.open_by_ranges(calls, path, name);
  throw Error(ExitCode::kDataError,
              "'" + name + "' " + (leads_to_directory(calls, path) ? "is a folder, and " : "") +
                  "cannot be read by ranges of rows: import it first "
                  "(bulksim import)");
}

std::unique_ptr<RowStream> open_rows(FileCalls& calls, const std::string& path,
                                     const RowStreamOptions& options) {
  const InputFormat& format = format_of(calls, path);
  return format.is_read_by_ranges()
             ? stream_of(format.open_by_ranges(calls, path, path), options.most_entries)
             : format.open_rows(calls, path, options);
}

}  // namespace bulksim
