#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "bulksim/core/error.hpp"
#include "formats/npz/npy.hpp"

namespace bulksim {

namespace {

/// Reads the only kind of Python dict that a header may be: strings, True, False, integer tuples.
class HeaderParser {
 public:
  HeaderParser(const std::string& text, const std::string& shown) : rest_(text), shown_(shown) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        header.type = type();
        has_type = true;
      } else if (key == "fortran_order") {
        header.fortran_order = truth();
        has_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        fail("has an unknown key '" + key + "'");
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!rest_.empty() || !has_type || !has_order || !has_shape) fail("is not complete");
    return header;
  }

 private:
  NpyType type() {
    skip_space();
    if (!rest_.empty() && rest_.front() == '[') {
      throw Error(ExitCode::kDataError, shown_ + " contains records, not numbers");
    }
    NpyType type;
    type.text = quoted();
    if (type.text.find('O') != std::string::npos) {
      throw Error(ExitCode::kDataError, shown_ + " contains Python objects (pickle, '" + type.text +
                                            "'), which are never loaded");
    }
    std::string_view text = type.text;
    const char order = text.empty() ? 0 : text.front();
    if (std::string_view("<>=|").find(order) == std::string_view::npos) fail("has no byte order");
    type.swapped = order == '>';
    text.remove_prefix(1);
    if (text.empty()) fail("has no type");
    type.kind = text.front();
    text.remove_prefix(1);
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), type.bytes);
    if (status != std::errc{} || end != text.data() + text.size() || type.bytes < 1 ||
        type.bytes > 1000) {
      fail("has the type '" + type.text + "'");
    }
    return type;
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> numbers;
    expect('(');
    while (!take(')')) {
      skip_space();
      std::int64_t number = 0;
      const auto [end, status] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
      if (status != std::errc{} || number < 0 || numbers.size() > 32) fail("has an invalid shape");
      rest_.remove_prefix(end - rest_.data());
      take('L');  // Python 2 wrote long integers that way
      numbers.push_back(number);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return numbers;
  }

  bool truth() {
    skip_space();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(std::string_view(word).size());
      return value;
    }
    fail("has neither True nor False for fortran_order");
  }

  std::string quoted() {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) fail("is not a dict");
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) fail("has an unterminated string");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  void skip_space() {
    const std::size_t at = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at);
  }
  bool take(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail(std::string("lacks a '") + wanted + "'");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ExitCode::kDataError, shown_ + ": its header " + what);
  }

  std::string_view rest_;
  const std::string& shown_;
};

}  // namespace

std::int64_t NpyHeader::count() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return -1;
  }
  return count;
}

NpyHeader parse_npy_header(const std::string& text, const std::string& shown) {
  return HeaderParser(text, shown).parse();
}

NpyFile open_npy(const File& file) {
  const std::string shown = "'" + file.path() + "'";
  std::array<unsigned char, 10> start{};
  file.read(std::as_writable_bytes(std::span(start)), 0);
  if (std::memcmp(start.data(), "\x93NUMPY\x01", 7) != 0)
    throw Error(ExitCode::kDataError, shown + " is not an .npy array of version 1");
  std::string text(start[8] + 256 * std::size_t{start[9]}, '\0');
  file.read(std::as_writable_bytes(std::span(text)), std::ssize(start));
  const NpyFile npy{parse_npy_header(text, shown), std::ssize(start) + std::ssize(text)};
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(npy.header.count(), npy.header.type.bytes, &bytes) || bytes < 0 ||
      bytes != file.size() - npy.data_at) {
    throw Error(ExitCode::kDataError, shown + " has " + std::to_string(file.size() - npy.data_at) +
                                          " bytes of elements, which does not match its shape");
  }
  return npy;
}

}  // namespace bulksim
