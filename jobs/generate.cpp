#include <string>

#include "bulksim/core/file.hpp"
#include "command.hpp"
#include "core/run/log.hpp"
#include "job/generate_job.hpp"

namespace bulksim {

CommandSyntax generate_syntax() {
  using enum OptionKind;
  return {.name = "generate",
          .usage = "PRESET --items N --queries M [--seed S] -o PREFIX",
          .summary =
              "Writes PREFIX_items.csr and PREFIX_queries.csr, rows of a pinned preset: titles,\n"
              "titles43, trigrams or splade. The same arguments make the same bytes anywhere.",
          .positionals = {"preset"},
          .options = {
              {"preset", 0, "", "titles, titles43, trigrams or splade"},
              {"items", 0, "100000", "item rows (K, M and G may follow)"},
              {"queries", 0, "1024", "query rows"},
              {"seed", 0, "1", "seed of the pseudo-random numbers"},
              {"output", 'o', "", "prefix of the two files; without it the name of the preset"},
              {"quiet", 'q', "", "warnings and errors only", kFlag},
              {"help", 'h', "", "this text", kFlag},
          }};
}

int run_generate(const std::vector<std::string>& words) {
  const OptionValues options = parse_options(generate_syntax(), words);
  if (printed_help(generate_syntax(), options)) return 0;
  GenerateOptions generation;
  generation.preset = options.required("preset", "the preset");
  generation.items = options.size("items", 0);
  generation.queries = options.size("queries", 0);
  generation.seed = static_cast<std::uint64_t>(options.integer("seed", 0));
  generation.prefix = options.has("output") ? options.text("output") : generation.preset;
  Log log({.level = options.flag("quiet") ? LogLevel::kWarning : LogLevel::kInfo});
  generate(generation, system_file_calls(), log);
  return 0;
}

}  // namespace bulksim
