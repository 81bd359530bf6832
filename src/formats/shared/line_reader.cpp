#include "formats/shared/line_reader.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "bulksim/core/error.hpp"
#include "formats/shared/input_files.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kFirstBuffer = std::size_t{1} << 16;
constexpr std::size_t kLongestLine = std::size_t{32} << 20;  // bounds the memory of a parser, too
constexpr std::string_view kGzipSuffix = ".gz";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

LineReader::LineReader(FileCalls& calls, const std::string& path)
    : file_(File::open_input(calls, path)), buffer_(kFirstBuffer + kLinePadding) {
  const FilePiece all{&file_, 0, file_.size()};
  const std::string_view compression = compression_of(file_);
  const auto fail = [&](const std::string& what) {
    throw Error(ExitCode::kDataError, "'" + path + "' is " + what);
  };
  if (!path.ends_with(kGzipSuffix)) {
    if (compression == "gzip") fail("compressed by gzip: add .gz to its name");
    refuse_compressed(file_, path);
    bytes_ = stored_bytes(all);
  } else {
    if (compression != "gzip") fail("not compressed by gzip: its name must not end in .gz");
    bytes_ = inflated_bytes(all, Deflate::kGzip, "'" + path + "'");
  }
}

std::optional<std::string_view> LineReader::next() {
  std::size_t searched = 0;
  const char* end = nullptr;
  for (;;) {
    const char* from = buffer_.data() + begin_;
    const std::size_t known = end_ - begin_;
    end = static_cast<const char*>(std::memchr(from + searched, '\n', known - searched));
    if (end != nullptr) break;
    searched = known;
    if (!fill()) break;
  }
  if (end == nullptr && begin_ == end_) return std::nullopt;
  const std::size_t size =
      end == nullptr ? end_ - begin_ : static_cast<std::size_t>(end - buffer_.data()) - begin_;
  std::string_view line(buffer_.data() + begin_, size);
  begin_ += size + (end == nullptr ? 0 : 1);
  ++number_;
  if (number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Moves the bytes that were not returned yet to the front and reads more; false at the end.
bool LineReader::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ + kLinePadding == buffer_.size()) {
    if (end_ >= kLongestLine) {
      ++number_;
      throw Error(ExitCode::kDataError,
                  place() + " has more than " + std::to_string(kLongestLine) + " bytes");
    }
    buffer_.resize(2 * end_ + kLinePadding);
  }
  const auto room = std::span(buffer_).subspan(end_, buffer_.size() - kLinePadding - end_);
  const std::size_t count = bytes_->read(std::as_writable_bytes(room));
  end_ += count;
  return count > 0;
}

std::string LineReader::place() const {
  return "'" + file_.path() + "', line " + std::to_string(number_);
}

}  // namespace bulksim
