#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// Writes bytes sequentially from a position in a file, in large pieces, and takes their digest.
class FileAppender {
 public:
  /// `file` must outlive the appender.
  FileAppender(const File& file, std::int64_t at) : file_(&file), at_(at), buffer_(kBytesAtOnce) {}

  void append(std::span<const std::byte> bytes) {
    if (used_ + bytes.size() > buffer_.size()) flush();
    if (bytes.size() > buffer_.size()) {
      write(bytes);
    } else if (!bytes.empty()) {
      std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
      used_ += bytes.size();
    }
  }
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }
  template <class T>
  void append_value(const T& value) {
    append(std::as_bytes(std::span(&value, 1)));
  }
  /// Must be called at the end: the destructor does not write.
  void flush() {
    write(std::span(buffer_).first(used_));
    used_ = 0;
  }
  /// XXH3-128 of all bytes that were written; complete after `flush`.
  Digest digest() const { return hasher_.digest(); }

 private:
  static constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;

  void write(std::span<const std::byte> bytes) {
    file_->write(bytes, at_);
    hasher_.update(bytes);
    at_ += bytes.size();
  }

  const File* file_;
  std::int64_t at_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
  Hasher hasher_;
};

}  // namespace bulksim
