#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// The bytes of a piece of a file in order, raw or inflated.
class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  /// Fills `to` and returns the number of bytes read: fewer than its size only at the end.
  virtual std::size_t read(std::span<std::byte> to) = 0;
  /// Bytes of the file that were consumed so far.
  virtual std::int64_t used() const = 0;
};

/// Bytes [at, at + bytes) of a file.
struct FilePiece {
  const File* file = nullptr;
  std::int64_t at = 0;
  std::int64_t bytes = 0;
};

enum class Deflate {
  kRaw,   ///< as in zip
  kGzip,  ///< one or several consecutive gzip streams; zeros behind them are ignored
};

/// `piece.file` must outlive the streams.
std::unique_ptr<ByteStream> stored_bytes(FilePiece piece);

/// Inflates a piece; damaged or truncated data is an Error (65) that starts with `name`.
std::unique_ptr<ByteStream> inflated_bytes(FilePiece piece, Deflate format, std::string name);

}  // namespace bulksim
