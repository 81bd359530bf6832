#include "formats/npz/npz_file.hpp"

#include <array>
#include <span>

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

/// In csc and coo a row takes no byte of the file, but it takes one of a store.
constexpr std::int64_t kMostRows = std::int64_t{1} << 32;

}  // namespace

NpzFile::NpzFile(FileCalls& calls, const std::string& path) : archive_(calls, path) {
  if (!has("format.npy")) {
    throw Error(ExitCode::kDataError, "'" + path +
                                          "' has no member 'format.npy': it was not written by "
                                          "scipy.sparse.save_npz");
  }
  format_ = open("format.npy").read_text();
  if (format_ != "csr" && format_ != "csc" && format_ != "coo") {
    throw Error(ExitCode::kDataError,
                "'" + path + "', member 'format.npy': the format is '" + format_ +
                    "'; only csr, csc and coo are read (save matrix.tocsr())");
  }
  read_shape();
}

NpyReader NpzFile::open(const std::string& name) const {
  const ZipMember* member = archive_.find(name);
  if (member == nullptr) {
    throw Error(ExitCode::kDataError, "'" + archive_.path() + "' has no member '" + name + "'");
  }
  return {archive_, *member};
}

NpyReader NpzFile::open_array(const std::string& name) const {
  NpyReader array = open(name);
  const std::size_t dimensions = array.header().shape.size();
  if (dimensions != 1) {
    throw Error(ExitCode::kDataError, array.shown() + " has " + std::to_string(dimensions) +
                                          " dimensions instead of one");
  }
  return array;
}

void NpzFile::read_shape() {
  NpyReader array = open_array("shape.npy");
  if (array.left() != 2) {
    throw Error(ExitCode::kDataError,
                array.shown() + " has " + std::to_string(array.left()) + " numbers instead of two");
  }
  std::array<std::int64_t, 2> shape{};
  array.read(std::span<std::int64_t>(shape));
  if (shape[0] < 0 || shape[1] < 0 || shape[0] > kMostRows || shape[1] > kMostColumns) {
    throw Error(ExitCode::kDataError, array.shown() + ": a matrix cannot have " +
                                          std::to_string(shape[0]) + " rows and " +
                                          std::to_string(shape[1]) +
                                          " columns (at most 2^32 of each are supported)");
  }
  info_.path = archive_.path();
  info_.format = "npz, " + format_;
  info_.rows = shape[0];
  info_.columns = shape[1];
}

OffsetReader::OffsetReader(const NpzFile& npz, std::int64_t groups, const char* group,
                           std::int64_t entries)
    : offsets_(npz.open_array("indptr.npy")), group_(group), entries_(entries) {
  if (offsets_.left() != groups + 1) {
    throw Error(ExitCode::kDataError, offsets_.shown() + " has " + std::to_string(offsets_.left()) +
                                          " numbers instead of " + std::to_string(groups + 1) +
                                          ", one more than there are " + group_ + "s");
  }
  std::int64_t first = 0;
  offsets_.read(std::span(&first, 1));
  if (first != 0) {
    throw Error(ExitCode::kDataError,
                offsets_.shown() + " begins with " + std::to_string(first) + " instead of 0");
  }
}

void OffsetReader::read(std::int64_t groups, std::vector<std::int64_t>& ends) {
  const std::size_t begin = ends.size();
  ends.resize(begin + groups);
  offsets_.read(std::span(ends).subspan(begin));
  for (std::size_t at = begin; at < ends.size(); ++at) {
    if (ends[at] < before_ || ends[at] > entries_) {
      throw Error(ExitCode::kDataError, offsets_.shown() + ": indptr not monotone at " + group_ +
                                            " " + std::to_string(group_number_) + " (" +
                                            std::to_string(ends[at]) + ")");
    }
    before_ = ends[at];
    ++group_number_;
  }
}

void expect_one_each(const NpyReader& array, std::int64_t count) {
  if (array.left() == count) return;
  throw Error(ExitCode::kDataError, array.shown() + " has " + std::to_string(array.left()) +
                                        " numbers, but there are " + std::to_string(count) +
                                        " values");
}

void refuse_index(const std::string& where, std::int64_t index, const char* what,
                  std::int64_t count) {
  throw Error(ExitCode::kDataError, where + ": " + what + " " + std::to_string(index) +
                                        " is not one of the " + std::to_string(count) + " " + what +
                                        "s");
}

}  // namespace bulksim
