#include <string>

#include "bulksim/core/file.hpp"
#include "cli/standard_options.hpp"
#include "command.hpp"
#include "job/generate_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  return {.name = "generate",
          .usage = "PRESET --items N --queries M [--seed S] -o PREFIX",
          .summary =
              "Writes matrices of pseudo-random rows to try the program with. PREFIX_items.csr and "
              "PREFIX_queries.csr have rows like those of a fixed preset: titles, titles43, "
              "trigrams or splade. The same arguments give the same bytes on every machine.",
          .positionals = {"preset"},
          .options = {{"preset", 0, "", "titles, titles43, trigrams or splade"},
                      {"items", 0, "100000", "item rows (K, M and G may follow)"},
                      {"queries", 0, "1024", "query rows"},
                      {"seed", 0, "1", "seed of the pseudo-random numbers"},
                      {"output", 'o', "", "prefix of the two files; default: name of the preset"},
                      quiet_option(),
                      help_option()},
          .examples = {"bulksim generate titles --items 200000 --queries 1024 -o titles"}};
}

int run(const OptionValues& options) {
  GenerateOptions generation;
  generation.preset = options.required("preset", "the preset");
  generation.items = options.size("items", 0);
  generation.queries = options.size("queries", 0);
  generation.seed = options.integer("seed", 0);
  generation.prefix = options.has("output") ? options.text("output") : generation.preset;
  Log log(log_options(options));
  generate(generation, system_file_calls(), log);
  return 0;
}

const Command kCommand(CommandGroup::kTry, syntax, run);

}  // namespace

}  // namespace bulksim
