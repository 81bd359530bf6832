#include "job/config/import_options.hpp"

namespace bulksim {

VectorKeys parse_keys(const OptionValues& options) {
  return options.choice<VectorKeys>(
      "keys", {{"terms", VectorKeys::kTerms}, {"index", VectorKeys::kIndices}});
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
