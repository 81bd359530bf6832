#include "storage/parts/part_set.hpp"

#include <cstdio>

namespace bulksim {

std::string part_file_name(std::size_t part) {
  char name[64];
  std::snprintf(name, sizeof name, "parts/part-%05zu.h5", part);
  return name;
}

std::string partial_file_name(std::size_t part, int arithmetic_version) {
  char name[64];
  std::snprintf(name, sizeof name, "parts/part-%05zu.%s", part,
                arithmetic_version == kOldArithmeticVersion ? "terms" : "partials");
  return name;
}

}  // namespace bulksim
