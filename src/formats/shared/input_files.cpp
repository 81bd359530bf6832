#include "formats/shared/input_files.hpp"

#include <algorithm>
#include <utility>

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

bool starts_with(const File& file, std::string_view bytes) {
  std::string start(bytes.size(), '\0');
  if (file.size() < std::ssize(start)) return false;
  file.read(std::as_writable_bytes(std::span(start)), 0);
  return start == bytes;
}

bool is_digit(char c) {
  return '0' <= c && c <= '9';
}

/// Splits off the leading digits of a text, or what precedes its first digit.
std::string_view take_piece(std::string_view& text) {
  const bool digits = is_digit(text.front());
  const auto end =
      std::find_if(text.begin(), text.end(), [&](char c) { return is_digit(c) != digits; });
  const std::string_view piece = text.substr(0, end - text.begin());
  text.remove_prefix(piece.size());
  return piece;
}

/// The number that digits mean, as a text that sorts like it among those of equal length.
std::string_view without_zeros(std::string_view digits) {
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

/// Natural order: digits are compared as numbers, all else by its bytes, equal numbers by theirs.
bool comes_before(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    std::string_view first = take_piece(a);
    std::string_view second = take_piece(b);
    if (is_digit(first.front()) && is_digit(second.front())) {
      first = without_zeros(first);
      second = without_zeros(second);
      if (first.size() != second.size()) return first.size() < second.size();
    }
    if (first != second) return first < second;
  }
  return a.empty() == b.empty() ? whole_a < whole_b : a.empty();
}

}  // namespace

bool has_suffix(std::string_view name, std::span<const std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

std::vector<std::string> visible_names(FileCalls& calls, const std::string& folder) {
  std::vector<std::string> names = list_directory(calls, folder);
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  std::sort(names.begin(), names.end(), comes_before);
  return names;
}

std::vector<std::string> names_with_suffix(FileCalls& calls, const std::string& folder,
                                           std::span<const std::string_view> suffixes) {
  std::vector<std::string> names = visible_names(calls, folder);
  std::erase_if(names, [&](const std::string& name) { return !has_suffix(name, suffixes); });
  return names;
}

bool starts_with(FileCalls& calls, const std::string& path, std::string_view bytes) {
  return starts_with(File::open_input(calls, path), bytes);
}

std::string_view compression_of(const File& file) {
  constexpr std::pair<std::string_view, std::string_view> kStarts[] = {{"\x1F\x8B", "gzip"},
                                                                       {"\x28\xB5\x2F\xFD", "zstd"},
                                                                       {"\xFD"
                                                                        "7zXZ",
                                                                        "xz"}};
  for (const auto& [start, name] : kStarts) {
    if (starts_with(file, start)) return name;
  }
  return {};
}

void refuse_compressed(const File& file, const std::string& name) {
  const std::string_view compression = compression_of(file);
  if (compression.empty()) return;
  throw Error(ExitCode::kDataError, "'" + name + "' is compressed by " + std::string(compression) +
                                        ": decompress it first");
}

}  // namespace bulksim
