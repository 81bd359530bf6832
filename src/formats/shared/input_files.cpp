#include "formats/shared/input_files.hpp"

#include <algorithm>

namespace bulksim {

bool has_suffix(std::string_view name, std::span<const std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

std::vector<std::string> names_with_suffix(FileCalls& calls, const std::string& folder,
                                           std::span<const std::string_view> suffixes) {
  std::vector<std::string> names = list_directory(calls, folder);
  std::erase_if(names, [&](const std::string& name) { return !has_suffix(name, suffixes); });
  return names;
}

bool starts_with(FileCalls& calls, const std::string& path, std::string_view bytes) {
  const File file = File::open(calls, path, O_RDONLY);
  std::string start(bytes.size(), '\0');
  if (file.size() < std::ssize(start)) return false;
  file.read(std::as_writable_bytes(std::span(start)), 0);
  return start == bytes;
}

}  // namespace bulksim
