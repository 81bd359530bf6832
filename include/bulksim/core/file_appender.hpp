#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// Writes bytes one behind the other from a place in a file on, in large pieces.
class FileAppender {
 public:
  /// `file` must outlive the appender.
  FileAppender(const File& file, std::int64_t at) : file_(&file), at_(at) {}

  void append(std::span<const std::byte> bytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (buffer_.size() >= kBytesAtOnce) flush();
  }
  template <class T>
  void append_value(const T& value) {
    append(std::as_bytes(std::span(&value, 1)));
  }
  /// To be called at the end: the destructor writes nothing.
  void flush() {
    file_->write(buffer_, at_);
    at_ += static_cast<std::int64_t>(buffer_.size());
    buffer_.clear();
  }
  /// Place behind everything that was appended.
  std::int64_t end() const { return at_ + static_cast<std::int64_t>(buffer_.size()); }

 private:
  static constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;

  const File* file_;
  std::int64_t at_;
  std::vector<std::byte> buffer_;
};

}  // namespace bulksim
