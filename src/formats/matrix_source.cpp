#include "bulksim/formats/matrix_source.hpp"

#include <cerrno>
#include <string_view>

#include "bulksim/core/error.hpp"
#include "bulksim/formats/spmat.hpp"

namespace bulksim {

namespace {

/// What follows the last dot of the file's name, dot included.
std::string_view suffix_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : name.substr(dot);
}

}  // namespace

std::unique_ptr<MatrixSource> open_matrix(FileCalls& calls, const std::string& path) {
  if (!exists(calls, path)) throw system_error("open", path, ENOENT);
  if (suffix_of(path) == ".csr" || is_directory(calls, path)) return open_spmat(calls, path);
  throw Error(ExitCode::kDataError,
              "'" + path + "' has no known format: its name must end in .csr (big-ann spmat)");
}

}  // namespace bulksim
