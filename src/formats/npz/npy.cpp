#include "formats/npz/npy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "bulksim/core/error.hpp"
#include "core/half.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kElementsAtOnce = 16384;
constexpr std::uint32_t kMostHeader = 10'000;  // the limit of numpy itself

/// Elements of type b1 and f2.
struct Bool {
  std::uint8_t bits;
};
struct Half {
  std::uint16_t bits;
};

template <class T>
T reversed(T value) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  std::reverse(bytes.begin(), bytes.end());
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

double to_double(Bool value) {
  return value.bits != 0 ? 1.0 : 0.0;
}
double to_double(Half value) {
  if (!is_special_half(value.bits)) return from_half(value.bits);
  return (value.bits & 0x3FF) != 0 ? std::numeric_limits<double>::quiet_NaN()
                                   : std::numeric_limits<double>::infinity();
}
template <class T>
double to_double(T value) {
  return static_cast<double>(value);
}

/// Converts one element; false when the number is not in the range of the other type.
template <class T>
bool convert(T from, double& to) {
  to = to_double(from);
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    // 2^64 and 2^63 are float64 numbers, but not integers of these types
    return std::fabs(to) < 0x1p63 && static_cast<T>(to) == from;
  }
  return true;
}
template <class T>
bool convert(T from, std::int64_t& to) {
  if constexpr (std::is_integral_v<T>) {
    to = static_cast<std::int64_t>(from);
    return std::is_signed_v<T> || to >= 0;
  }
  return false;
}

std::string read_header_text(ZipMemberReader& content) {
  std::array<unsigned char, 12> start{};
  const auto bytes = std::as_writable_bytes(std::span(start));
  content.read(bytes.first(8));
  const bool magic = std::memcmp(start.data(), "\x93NUMPY", 6) == 0;
  if (!magic || start[6] < 1 || start[6] > 3) {
    throw Error(ExitCode::kDataError,
                content.shown() + " is not an .npy array of version 1, 2 or 3");
  }
  const std::size_t length_bytes = start[6] == 1 ? 2 : 4;
  content.read(bytes.subspan(8, length_bytes));
  std::uint32_t length = 0;
  std::memcpy(&length, &start[8], length_bytes);
  if (length > kMostHeader) {
    throw Error(ExitCode::kDataError,
                content.shown() + " has a header of " + std::to_string(length) + " bytes");
  }
  std::string text(length, '\0');
  content.read(std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace

NpyReader::NpyReader(const ZipArchive& archive, const ZipMember& member)
    : content_(archive.open(member)) {
  header_ = parse_npy_header(read_header_text(content_), content_.shown());
  left_ = header_.count();
  const int size = header_.type.kind == 'U' ? 4 * header_.type.bytes : header_.type.bytes;
  std::int64_t bytes = 0;
  if (left_ < 0 || __builtin_mul_overflow(left_, size, &bytes) || bytes != content_.left()) {
    fail("has " + std::to_string(content_.left()) +
         " bytes of elements, which does not match its shape");
  }
}

template <class T, class To>
void NpyReader::read_as(std::span<To> to) {
  while (!to.empty()) {
    const std::size_t count = std::min(to.size(), kElementsAtOnce);
    raw_.resize(count * sizeof(T));
    content_.read(raw_);
    bool good = true;
    for (std::size_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, &raw_[i * sizeof(T)], sizeof value);
      good &= convert(header_.type.swapped ? reversed(value) : value, to[i]);
    }
    if (!good) fail("contains a number that is too large to be represented exactly");
    to = to.subspan(count);
    left_ -= count;
  }
}

template <class To>
void NpyReader::read_any(std::span<To> to) {
  const NpyType& type = header_.type;
  const auto is = [&](char kind, int bytes) { return type.kind == kind && type.bytes == bytes; };
  if (std::ssize(to) > left_) fail("is too short");
  if (is('i', 1)) return read_as<std::int8_t>(to);
  if (is('i', 2)) return read_as<std::int16_t>(to);
  if (is('i', 4)) return read_as<std::int32_t>(to);
  if (is('i', 8)) return read_as<std::int64_t>(to);
  if (is('u', 1)) return read_as<std::uint8_t>(to);
  if (is('u', 2)) return read_as<std::uint16_t>(to);
  if (is('u', 4)) return read_as<std::uint32_t>(to);
  if (is('u', 8)) return read_as<std::uint64_t>(to);
  if constexpr (std::is_same_v<To, double>) {
    if (is('f', 2)) return read_as<Half>(to);
    if (is('f', 4)) return read_as<float>(to);
    if (is('f', 8)) return read_as<double>(to);
    if (is('b', 1)) return read_as<Bool>(to);
    fail("has elements of type '" + type.text +
         "', which cannot be values (f2, f4, f8, b1 and "
         "integers can)");
  }
  fail("has elements of type '" + type.text + "', which are not integers");
}

void NpyReader::read(std::span<double> to) {
  read_any(to);
}
void NpyReader::read(std::span<std::int64_t> to) {
  read_any(to);
}

std::string NpyReader::read_text() {
  const NpyType& type = header_.type;
  if (left_ != 1 || (type.kind != 'S' && type.kind != 'U')) fail("is not a string");
  std::vector<std::byte> bytes(content_.left());
  content_.read(bytes);
  std::string text;
  const std::size_t width = type.kind == 'U' ? 4 : 1;  // UTF-32, of which ASCII is enough here
  for (std::size_t at = type.swapped ? width - 1 : 0; at < bytes.size(); at += width) {
    if (bytes[at] != std::byte{0}) text += static_cast<char>(bytes[at]);
  }
  left_ = 0;
  return text;
}

void NpyReader::skip(std::int64_t elements) {
  if (elements > left_) fail("is too short");
  content_.skip(elements * header_.type.bytes);
  left_ -= elements;
}

void NpyReader::finish() {
  content_.skip_rest();
  left_ = 0;
}

void NpyReader::fail(const std::string& what) const {
  throw Error(ExitCode::kDataError, content_.shown() + " " + what);
}

}  // namespace bulksim
