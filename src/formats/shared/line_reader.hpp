#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bulksim/core/file.hpp"
#include "formats/shared/byte_stream.hpp"

namespace bulksim {

/// Bytes after every line that may be read (not used), as simdjson requires.
inline constexpr std::size_t kLinePadding = 64;

/// The lines of a text file or a gzip file (.gz), without line ends (LF or CRLF) and without a byte
/// order mark.
class LineReader {
 public:
  LineReader(FileCalls& calls, const std::string& path);
  ~LineReader() = default;
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  LineReader(LineReader&&) = delete;
  LineReader& operator=(LineReader&&) = delete;

  /// The next line, valid until the next call; none at the end. Throws Error (65) for a line of
  /// more than 32 MiB.
  std::optional<std::string_view> next();
  std::int64_t number() const { return number_; }  ///< of the last line, from 1
  /// "'items.jsonl', line 12", for errors about the last line.
  std::string place() const;
  /// Bytes of the file that were consumed so far.
  std::int64_t used() const { return bytes_->used(); }

 private:
  bool fill();

  File file_;
  std::unique_ptr<ByteStream> bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of the bytes that were not returned yet
  std::size_t end_ = 0;    // of the bytes that were read
  std::int64_t number_ = 0;
};

}  // namespace bulksim
