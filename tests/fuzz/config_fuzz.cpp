#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "cli/config_file.hpp"
#include "fuzz.hpp"

namespace bulksim::fuzz {
namespace {

const CommandSyntax kSyntax{.name = "compute",
                            .usage = "",
                            .summary = "",
                            .positionals = {},
                            .options = {{"top-k", 'k', "", "pairs of a query"},
                                        {"threshold", 't', "", "least score"},
                                        {"nonzero", 0, "", "all but zero", OptionKind::kFlag}}};

const Target kTarget("config", [](std::string_view bytes) {
  static const int file = memfd_create("config", 0);
  expect(
      ftruncate(file, 0) == 0 && pwrite(file, bytes.data(), bytes.size(), 0) == std::ssize(bytes),
      "the file is written");
  const auto values = read_config_file(kSyntax, "/proc/self/fd/" + std::to_string(file));
  expect(values.size() <= kSyntax.options.size(), "every option is set once");
});

}  // namespace
}  // namespace bulksim::fuzz
