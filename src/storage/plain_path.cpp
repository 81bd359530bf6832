#include "storage/plain_path.hpp"

#include <algorithm>

namespace bulksim {

namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name.front() != '.' &&
         name.find_first_not_of(kLetters) == std::string_view::npos;
}

}  // namespace

bool is_plain_path(std::string_view path) {
  if (std::count(path.begin(), path.end(), '/') > 3) return false;
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/')) {
    if (!is_plain_name(path.substr(0, slash))) return false;
    path.remove_prefix(slash + 1);
  }
  return is_plain_name(path);
}

}  // namespace bulksim
