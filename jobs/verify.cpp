#include <algorithm>
#include <iostream>
#include <thread>

#include "bulksim/core/error.hpp"
#include "bulksim/core/file.hpp"
#include "command.hpp"
#include "job/config/import_options.hpp"
#include "job/verify/verify_result.hpp"

namespace bulksim {

CommandSyntax verify_syntax() {
  using enum OptionKind;
  return {.name = "verify",
          .usage = "OUT [--against ITEMS [QUERIES]]",
          .summary =
              "Looks at every byte of a published result and names what is damaged: file, part,\n"
              "tile, rows and columns. Exit code 0 means clean, 65 damaged.",
          .positionals = {"path", "queries"},
          .options = {
              {"path", 0, "", "folder of versions, one version, or a result file"},
              {"quick", 0, "", "read no tiles", kFlag},
              {"full", 0, "", "read every byte; the default", kFlag},
              {"against", 0, "", "item rows: 64 cells of every tile (pairs: 64 queries) again"},
              {"queries", 0, "", "query rows for --against; without it the items"},
              {"vocab", 0, "", "terms of the columns, when the run had this option"},
              {"keys", 0, "terms", "keys of JSONL vectors, as in the run: terms or index"},
              {"threads", 'j', "0", "threads; 0: all cores"},
              {"json", 0, "", "JSON instead of text", kFlag},
              {"help", 'h', "", "this text", kFlag},
          }};
}

int run_verify(const std::vector<std::string>& words) {
  const OptionValues options = parse_options(verify_syntax(), words);
  if (printed_help(verify_syntax(), options)) return 0;
  VerifyOptions verification;
  verification.path = options.required("path", "the result OUT");
  verification.depth = options.flag("quick") ? VerifyDepth::kQuick : VerifyDepth::kFull;
  verification.against_items = options.text("against");
  verification.against_queries = options.text("queries");
  verification.against.vocabulary = options.text("vocab");
  verification.against.keys = parse_keys(options);
  verification.threads = static_cast<int>(options.integer("threads", 0, 4096));
  if (verification.threads == 0) {
    verification.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
  verification.format = options.flag("json") ? VerifyFormat::kJson : VerifyFormat::kText;
  Log log({});
  const Verdict verdict = verify(system_file_calls(), verification, log);
  print_verdict(verdict, verification.format, std::cout);
  return static_cast<int>(verdict.damage.empty() ? ExitCode::kOk : ExitCode::kDataError);
}

}  // namespace bulksim
