#include "job/input/row_ids.hpp"

#include <optional>
#include <string>

#include "bulksim/core/error.hpp"
#include "formats/shared/text_lines.hpp"

namespace bulksim {

namespace {

/// The file or matrix that ids come from.
std::string origin(const std::string& path, const MatrixSource& source) {
  return path.empty() ? source.info().path : path;
}

}  // namespace

void expect_count(const StringTable& ids, const std::string& path, std::int64_t count,
                  const std::string& of_what) {
  if (ids.size() == count) return;
  throw Error(ExitCode::kDataError, "'" + path + "' has " + std::to_string(ids.size()) +
                                        " lines, but there are " + std::to_string(count) + " " +
                                        of_what);
}

StringTable read_ids(FileCalls& calls, const std::string& path, const MatrixInfo& info) {
  StringTable ids = read_lines(calls, path);
  expect_count(ids, path, info.rows, "rows in '" + info.path + "'");
  return ids;
}

StringTable ids_of(FileCalls& calls, const MatrixSource& source, const std::string& path) {
  if (path.empty()) return source.ids();
  return read_ids(calls, path, source.info());
}

std::optional<IdInfo> survey_ids(FileCalls& calls, const MatrixSource& source,
                                 const std::string& path) {
  const StringTable ids = ids_of(calls, source, path);
  if (ids.empty()) return std::nullopt;
  for (std::int64_t row = 0; row < ids.size(); ++row) {
    if (ids[row].find('\0') == std::string_view::npos) continue;
    throw Error(ExitCode::kDataError,
                "'" + origin(path, source) + "', row " + std::to_string(row) +
                    ": the id contains a zero byte, which a result cannot store");
  }
  return IdInfo{ids.digest(), std::ssize(ids.bytes)};
}

StringTable reread_ids(FileCalls& calls, const MatrixSource& source, const std::string& path,
                       const std::optional<IdInfo>& known) {
  if (!known) return {};
  StringTable ids = ids_of(calls, source, path);
  if (ids.digest() == known->digest) return ids;
  throw Error(ExitCode::kTemporary, "the ids in '" + origin(path, source) +
                                        "' have changed since the run began; nothing was "
                                        "published, run the same command again");
}

}  // namespace bulksim
