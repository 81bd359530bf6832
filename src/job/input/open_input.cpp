#include "job/input/open_input.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/error.hpp"
#include "core/files/stoppable_calls.hpp"
#include "formats/format_table.hpp"
#include "formats/shared/input_files.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kBytesAtOnce = std::size_t{4} << 20;

void hash_file(FileCalls& calls, const std::string& path, Hasher& hasher) {
  const File file = File::open_input(calls, path);
  const std::int64_t size = file.size();
  std::vector<std::byte> block;
  for (std::int64_t at = 0; at < size; at += block.size()) {
    block.resize(std::min(size - at, static_cast<std::int64_t>(kBytesAtOnce)));
    file.read(block, at);
    hasher.update(block);
  }
}

void hash_text(const std::string& text, Hasher& hasher) {
  hasher.update(std::as_bytes(std::span(text)));
}

/// XXH3-128 of the bytes of a file, or of the names and files of a folder, and of the options that
/// decide the rows of a store.
Digest digest_of_source(FileCalls& calls, const std::string& path, const ImportOptions& options) {
  Hasher hasher;
  if (leads_to_directory(calls, path)) {
    const auto& suffixes = format_of(calls, path).suffixes;
    for (const std::string& name : names_with_suffix(calls, path, suffixes)) {
      hash_text(name, hasher);
      hash_file(calls, path + "/" + name, hasher);
    }
  } else {
    hash_file(calls, path, hasher);
  }
  if (options.keys == VectorKeys::kIndices) hash_text("keys=index", hasher);
  for (const auto& [option, file] :
       {std::pair{"vocabulary", options.vocabulary}, std::pair{"ids", options.ids}}) {
    if (file.empty()) continue;
    hash_text(option, hasher);
    hash_file(calls, file, hasher);
  }
  return hasher.digest();
}

}  // namespace

std::string prepare_input(FileCalls& calls, const std::string& path, const std::string& folder,
                          const ImportOptions& options, Log& log) {
  if (format_of(calls, path).is_read_by_ranges()) return path;
  StoppableCalls inputs(calls, options.stop);
  const std::string store = folder + "/" + digest_of_source(inputs, path, options).hex() + ".h5";
  if (exists(calls, store)) {
    log.info("import", "'" + path + "' was imported before: its rows are read from '" + store + "'",
             {{"store", store}});
    return store;
  }
  const ImportReport report = import_matrix(calls, path, store, options, log);
  log.info("import", "imported " + report.to_text() + " into '" + store + "'",
           {{"store", store}, {"seconds", report.seconds}});
  return store;
}

std::unique_ptr<MatrixSource> open_input(FileCalls& calls, const std::string& prepared,
                                         const std::string& name, Irregular irregular) {
  auto source = open_matrix(calls, prepared, name);
  if (irregular == Irregular::kAccept || source->survey() == nullptr) return source;
  const CanonicalizationCounts& counts = source->survey()->counts;
  if (counts.all_canonical()) return source;
  throw Error(ExitCode::kDataError, "'" + name +
                                        "' was imported from rows that were not canonical (" +
                                        counts.text() + "), which --strict does not accept");
}

}  // namespace bulksim
