#include "storage/parts/part_set.hpp"

#include <cstdio>

namespace bulksim {

namespace {

std::string part_name(std::size_t part, const char* suffix) {
  char name[64];
  std::snprintf(name, sizeof name, "parts/part-%05zu.%s", part, suffix);
  return name;
}

}  // namespace

std::string part_file_name(std::size_t part) {
  return part_name(part, "h5");
}

std::string partial_file_name(std::size_t part) {
  return part_name(part, "partials");
}

std::string old_partial_file_name(std::size_t part) {
  return part_name(part, "terms");
}

}  // namespace bulksim
