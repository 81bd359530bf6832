#include <cstdio>

#include "bulksim/storage/run_directory.hpp"

namespace bulksim {

std::string part_file_name(std::size_t part) {
  char name[64];
  std::snprintf(name, sizeof name, "parts/part-%05zu.h5", part);
  return name;
}

std::string term_file_name(std::size_t part) {
  char name[64];
  std::snprintf(name, sizeof name, "parts/part-%05zu.terms", part);
  return name;
}

std::string work_folder_of_file(const std::string& output) {
  return parent_of(output) + "/." + output.substr(output.find_last_of('/') + 1) + ".bulksim";
}

OutputForm output_form(const std::string& output) {
  for (const char* suffix : {".h5", ".npz", ".tsv"}) {
    if (output.ends_with(suffix)) return OutputForm::kSingleFile;
  }
  return OutputForm::kVersions;
}

}  // namespace bulksim
