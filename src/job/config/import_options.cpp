#include "job/config/import_options.hpp"

namespace bulksim {

CommandSyntax import_syntax() {
  using enum OptionKind;
  return {
      .name = "import",
      .usage = "SOURCE -o STORE.h5",
      .summary =
          "Writes a matrix into a store, which compute reads by row ranges: canonical rows, "
          "checked\n"
          "and packed, with their survey, the ids of the rows and the terms of the columns.",
      .positionals = {"source"},
      .options = {
          {"source", 0, "", "matrix: .csr, .npz, .jsonl, .jsonl.gz or a folder of .jsonl files"},
          {"output", 'o', "", "store to write (.h5)"},
          {"vocab", 0, "", "file with the terms of the columns, one a line"},
          {"ids", 0, "", "file with the ids of the rows, one a line"},
          {"keys", 0, "terms", "keys of JSONL vectors: terms or index (numbers of columns)"},
          {"strict", 0, "", "refuse unsorted rows, duplicates and zeros", kFlag},
          {"json", 0, "", "JSON instead of the path of the store", kFlag},
          {"quiet", 'q', "", "warnings and errors only", kFlag},
          {"log-format", 0, "human", "human or json"},
          {"help", 'h', "", "this text", kFlag},
      }};
}

VectorKeys parse_keys(const OptionValues& options) {
  return options.choice("keys", {"terms", "index"}) == 0 ? VectorKeys::kTerms
                                                         : VectorKeys::kIndices;
}

ImportOptions make_import_options(const OptionValues& options) {
  ImportOptions import;
  import.keys = parse_keys(options);
  import.irregular = options.flag("strict") ? Irregular::kRefuse : Irregular::kAccept;
  import.vocabulary = options.text("vocab");
  import.ids = options.text("ids");
  return import;
}

}  // namespace bulksim
