#include "bulksim/formats/matrix_source.hpp"

#include <cerrno>

#include "bulksim/core/error.hpp"
#include "formats/spmat.hpp"
#include "formats/store/block_sparse_store.hpp"

namespace bulksim {

MatrixFormat format_of(FileCalls& calls, const std::string& path) {
  if (!exists(calls, path)) throw system_error("open", path, ENOENT);
  if (is_directory(calls, path)) return MatrixFormat::kJsonl;
  if (path.ends_with(".csr")) return MatrixFormat::kSpmat;
  if (path.ends_with(".h5")) return MatrixFormat::kStore;
  if (path.ends_with(".npz")) return MatrixFormat::kNpz;
  if (path.ends_with(".jsonl") || path.ends_with(".jsonl.gz")) return MatrixFormat::kJsonl;
  throw Error(ExitCode::kDataError,
              "'" + path +
                  "' has no known format: its name must end in .csr (big-ann spmat), .h5 (made by "
                  "bulksim import), .npz (scipy), .jsonl or .jsonl.gz");
}

bool is_read_by_ranges(MatrixFormat format) {
  return format == MatrixFormat::kSpmat || format == MatrixFormat::kStore;
}

std::unique_ptr<MatrixSource> open_matrix(FileCalls& calls, const std::string& path) {
  switch (format_of(calls, path)) {
    case MatrixFormat::kSpmat:
      return open_spmat(calls, path);
    case MatrixFormat::kStore:
      return open_block_sparse_store(calls, path, path);
    case MatrixFormat::kNpz:
    case MatrixFormat::kJsonl:
      break;
  }
  throw Error(ExitCode::kDataError, "'" + path + "' " +
                                        (is_directory(calls, path) ? "is a folder, and " : "") +
                                        "cannot be read by ranges of rows: import it first "
                                        "(bulksim import)");
}

}  // namespace bulksim
