#include <algorithm>
#include <iostream>
#include <thread>

#include "bulksim/core/error.hpp"
#include "bulksim/core/file.hpp"
#include "cli/standard_options.hpp"
#include "command.hpp"
#include "job/config/import_options.hpp"
#include "job/config/make_job_config.hpp"
#include "job/config/option_table.hpp"
#include "job/verify/verify_result.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  using enum OptionKind;
  CommandSyntax syntax{
      .name = "verify",
      .usage = "OUT [--against ITEMS [QUERIES]]",
      .summary =
          "Reads every byte of a published result and lists what is damaged. Prints file, part, "
          "tile, rows and columns. The exit code is 0 if the result is intact, 65 if it is "
          "damaged. Text and .npy hold no checksum: their values can be computed again with "
          "--against, and the options of the run that chose the pairs.",
      .positionals = {"path", "queries"},
      .options = {{"path", 0, "", "folder of versions, one version, or a result file"},
                  {"quick", 0, "", "read no tiles", kFlag},
                  {"full", 0, "", "read every byte; the default", kFlag},
                  {"against", 0, "",
                   "item rows, to recompute 64 cells of every tile, or the pairs of 64 queries"},
                  {"queries", 0, "", "query rows for --against; default: the items"},
                  {"item-ids", 0, "", "file of the item ids of a text, if the run had one"},
                  {"query-ids", 0, "", "file of the query ids of a text, if the run had one"},
                  {"vocab", 0, "", "file with the terms of the columns, if the run had one"},
                  {"keys", 0, "terms", "keys of JSONL vectors, as in the run: terms or index"},
                  {"threads", 'j', "0", "threads; 0: all cores"},
                  json_option(),
                  help_option()},
      .examples = {"bulksim verify out/ --against items.npz queries.npz",
                   "bulksim verify pairs.tsv --against items.npz -t 0.8"}};
  const std::vector<Option> pairs = pair_options();
  syntax.options.insert(syntax.options.end(), pairs.begin(), pairs.end());
  return syntax;
}

int run(const OptionValues& options) {
  VerifyOptions verification;
  verification.path = options.required("path", "the result OUT");
  verification.depth = options.flag("quick") ? VerifyDepth::kQuick : VerifyDepth::kFull;
  verification.against_items = options.text("against");
  verification.against_queries = options.text("queries");
  verification.against.vocabulary = options.text("vocab");
  verification.against.keys = parse_keys(options);
  verification.item_ids = options.text("item-ids");
  verification.query_ids = options.text("query-ids");
  verification.filter = parse_filter(options);
  verification.metric = parse_metric(options);
  verification.threads = static_cast<int>(options.integer("threads", 0, 4096));
  if (verification.threads == 0) {
    verification.threads = std::max(1U, std::thread::hardware_concurrency());
  }
  Log log({});
  const Verdict verdict = verify(system_file_calls(), verification, log);
  std::cout << (options.flag("json") ? verdict.to_json() : verdict.to_text());
  return static_cast<int>(verdict.damage.empty() ? ExitCode::kOk : ExitCode::kDataError);
}

const Command kCommand(CommandGroup::kMaintain, syntax, run);

}  // namespace

}  // namespace bulksim
