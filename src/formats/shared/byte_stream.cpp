#include "formats/shared/byte_stream.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <zlib.h>

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kInputBytes = std::size_t{1} << 16;

class StoredBytes final : public ByteStream {
 public:
  explicit StoredBytes(FilePiece piece) : piece_(piece) {}

  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = std::min<std::int64_t>(piece_.bytes, std::ssize(to));
    piece_.file->read(to.first(count), piece_.at);
    piece_.at += count;
    piece_.bytes -= count;
    used_ += count;
    return count;
  }
  std::int64_t used() const override { return used_; }

 private:
  FilePiece piece_;
  std::int64_t used_ = 0;
};

class InflatedBytes final : public ByteStream {
 public:
  InflatedBytes(FilePiece piece, Deflate format, std::string name)
      : rest_(piece), format_(format), name_(std::move(name)), input_(kInputBytes) {
    const int window = format == Deflate::kRaw ? -MAX_WBITS : MAX_WBITS + 16;
    if (inflateInit2(&stream_, window) != Z_OK) throw std::bad_alloc();
  }
  ~InflatedBytes() override { inflateEnd(&stream_); }

  std::size_t read(std::span<std::byte> to) override {
    std::size_t done = 0;
    while (done < to.size() && !ended_) {
      // zlib counts in 32 bits
      const std::size_t room = std::min(to.size() - done, std::size_t{1} << 30);
      stream_.next_out = reinterpret_cast<Bytef*>(to.data() + done);
      stream_.avail_out = static_cast<uInt>(room);
      step();
      done += room - stream_.avail_out;
    }
    return done;
  }
  std::int64_t used() const override { return used_ - stream_.avail_in; }

 private:
  void step() {
    if (stream_.avail_in == 0) fill();
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      end_of_stream();
    } else if (status == Z_BUF_ERROR && stream_.avail_in == 0 && rest_.bytes == 0) {
      throw Error(ExitCode::kDataError, name_ + " is truncated: its compressed data has no end");
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      const std::string reason = stream_.msg != nullptr ? stream_.msg : "unknown method";
      throw Error(ExitCode::kDataError,
                  name_ + " is damaged: it cannot be decompressed (" + reason + ")");
    }
  }

  void fill() {
    const std::size_t count = std::min<std::int64_t>(rest_.bytes, std::ssize(input_));
    rest_.file->read(std::span(input_).first(count), rest_.at);
    rest_.at += count;
    rest_.bytes -= count;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(count);
    used_ += count;
  }

  void end_of_stream() {
    ended_ = format_ == Deflate::kRaw || !skip_zeros();
    if (!ended_) inflateReset(&stream_);  // another gzip stream follows
  }

  /// Skips zeros, with which tapes and some tools fill up their last block; false at the end.
  bool skip_zeros() {
    for (;;) {
      if (stream_.avail_in == 0) fill();
      if (stream_.avail_in == 0) return false;
      if (*stream_.next_in != 0) return true;
      ++stream_.next_in;
      --stream_.avail_in;
    }
  }

  FilePiece rest_;
  Deflate format_;
  std::string name_;
  std::vector<std::byte> input_;
  z_stream stream_{};
  std::int64_t used_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> stored_bytes(FilePiece piece) {
  return std::make_unique<StoredBytes>(piece);
}

std::unique_ptr<ByteStream> inflated_bytes(FilePiece piece, Deflate format, std::string name) {
  return std::make_unique<InflatedBytes>(piece, format, std::move(name));
}

}  // namespace bulksim
