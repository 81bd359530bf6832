#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bulksim/core/string_table.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "core/files/forwarding_calls.hpp"

namespace bulksim::fuzz {

/// A parser that is given arbitrary bytes. It may accept them, or throw an Error that says that
/// they are damaged (65, or 78 for a configuration file), missing (66) or too large (71); anything
/// else is a fault of the parser. Each NAME_fuzz.cpp registers one.
class Target {
 public:
  Target(const char* name, void (*parse)(std::string_view bytes));
};

/// A file system whose only file has these bytes, whatever its name.
class OneFile final : public ForwardingCalls {
 public:
  explicit OneFile(std::string_view bytes) : bytes_(bytes) {}

  int open(const char* path, int flags, mode_t mode) override;
  int close(int fd) override;
  ssize_t pread(int fd, void* to, std::size_t bytes, off_t at) override;
  int fstat(int fd, struct stat* out) override;
  int lstat(const char* path, struct stat* out) override;
  ssize_t readlink(const char* path, char* to, std::size_t bytes) override;

 private:
  std::string_view bytes_;
};

/// Ends the process when a claim about parsed data does not hold.
void expect(bool holds, const char* claim);

/// What every reader of a matrix promises of the rows it returns; then takes them through the steps
/// of an import: canonical form, encoding, decoding.
void use_rows(CsrMatrix& rows);

/// The same for all rows of a matrix that is read by ranges.
void use_source(const MatrixSource& source);

/// The texts lie inside their bytes.
void use_texts(const StringTable& texts);

/// Replaces the checksum of a record, a CRC32C of the bytes before it, where the record is inside.
void set_crc(std::span<char> bytes, std::size_t begin, std::size_t crc_at);

}  // namespace bulksim::fuzz
