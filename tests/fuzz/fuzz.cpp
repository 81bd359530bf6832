// One program for all parsers:
//
//   fuzz NAME CORPUS.. [-max_total_time=SECONDS] [-runs=COUNT] ..    the other options are
//   libFuzzer's

#include "fuzz.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "bulksim/core/error.hpp"
#include "bulksim/sparse/row_survey.hpp"
#include "core/crc.hpp"
#include "sparse/block_sparse.hpp"

namespace bulksim::fuzz {

namespace {

using Parse = void (*)(std::string_view bytes);

constexpr int kDescriptor = 1'000'000;  // not one of the process

std::map<std::string, Parse>& targets() {
  static std::map<std::string, Parse> all;
  return all;
}

Parse chosen = nullptr;

struct stat status_of(std::string_view bytes) {
  struct stat status {};
  status.st_mode = S_IFREG | 0600;
  status.st_nlink = 1;
  status.st_size = std::ssize(bytes);
  return status;
}

bool is_refusal(ExitCode code) {
  return code == ExitCode::kDataError || code == ExitCode::kNoInput || code == ExitCode::kMemory ||
         code == ExitCode::kConfig;
}

}  // namespace

Target::Target(const char* name, Parse parse) {
  targets()[name] = parse;
}

int OneFile::open(const char* /*path*/, int /*flags*/, mode_t /*mode*/) {
  return kDescriptor;
}

int OneFile::close(int /*fd*/) {
  return 0;
}

ssize_t OneFile::pread(int /*fd*/, void* to, std::size_t bytes, off_t at) {
  expect(at >= 0, "a read begins inside the file");
  if (at >= std::ssize(bytes_)) return 0;
  const std::string_view piece = bytes_.substr(at, bytes);
  std::memcpy(to, piece.data(), piece.size());
  return std::ssize(piece);
}

int OneFile::fstat(int /*fd*/, struct stat* out) {
  *out = status_of(bytes_);
  return 0;
}

int OneFile::lstat(const char* /*path*/, struct stat* out) {
  *out = status_of(bytes_);
  return 0;
}

ssize_t OneFile::readlink(const char* /*path*/, char* to, std::size_t /*bytes*/) {
  *to = 'x';
  return 1;
}

void expect(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "it does not hold that %s\n", claim);
  std::abort();
}

void use_rows(CsrMatrix& rows) {
  expect(std::ranges::is_sorted(rows.row_offsets) && rows.row_offsets.front() == 0 &&
             rows.nnz() == std::ssize(rows.col_indices) && rows.nnz() == std::ssize(rows.values),
         "the offsets of rows are those of their entries");
  expect(
      std::ranges::all_of(rows.col_indices, [&](Column column) { return column < rows.columns; }),
      "columns are inside the matrix");
  expect(std::ranges::all_of(rows.values, [](double value) { return std::isfinite(value); }),
         "values are finite");
  canonicalize(rows, Irregular::kAccept, "rows", 0);
  const ValueInfo info = value_info(rows.view());
  expect(info.rounding.exact_rows <= rows.rows(), "at most all rows are exact");
  if (rows.rows() > kRowBlockRows) return;
  std::vector<std::byte> encoded;
  encode_row_block(rows.view(), encoded);
  CsrMatrix decoded;
  decoded.columns = rows.columns;
  expect(decode_row_block(encoded, decoded).empty(), "what was encoded can be decoded");
  expect(row_block_digest(decoded.view()) == row_block_digest(rows.view()),
         "decoded rows are those that were encoded");
}

void use_source(const MatrixSource& source) {
  const std::int64_t rows = source.info().rows;
  CsrMatrix out;
  for (std::int64_t row = 0; row < rows; row += kRowBlockRows) {
    source.read({row, std::min(row + kRowBlockRows, rows)}, out);
    use_rows(out);
  }
}

void use_texts(const StringTable& texts) {
  std::size_t bytes = 0;
  for (std::int64_t at = 0; at < texts.size(); ++at)
    bytes += texts[at].size();
  expect(bytes == texts.bytes.size(), "texts follow each other");
}

void set_crc(std::span<char> bytes, std::size_t begin, std::size_t crc_at) {
  std::uint32_t crc = 0;
  if (crc_at + sizeof crc > bytes.size()) return;
  crc = crc32c(std::as_bytes(bytes.subspan(begin, crc_at - begin)));
  std::memcpy(&bytes[crc_at], &crc, sizeof crc);
}

}  // namespace bulksim::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  using bulksim::fuzz::targets;
  const char* name = *argc > 1 ? (*argv)[1] : "";
  const auto found = targets().find(name);
  if (found == targets().end()) {
    std::fprintf(stderr, "'%s' is not one of:", name);
    for (const auto& [known, parse] : targets())
      std::fprintf(stderr, " %s", known.c_str());
    std::fprintf(stderr, "\n");
    std::exit(64);
  }
  bulksim::fuzz::chosen = found->second;
  std::rotate(*argv + 1, *argv + 2, *argv + *argc);  // libFuzzer sees only its own arguments
  --*argc;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    bulksim::fuzz::chosen({reinterpret_cast<const char*>(data), size});
  } catch (const bulksim::Error& error) {
    if (bulksim::fuzz::is_refusal(error.code())) return 0;
    std::fprintf(stderr, "exit code %d: %s\n", static_cast<int>(error.code()), error.what());
    std::abort();
  }
  return 0;
}
