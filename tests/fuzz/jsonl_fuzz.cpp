#include "formats/jsonl/jsonl.hpp"
#include "fuzz.hpp"

namespace bulksim::fuzz {
namespace {

void read_all(std::string_view bytes, const RowStreamOptions& options) {
  OneFile calls(bytes);
  const auto stream = open_jsonl(calls, "x.jsonl", options);
  std::int64_t rows = 0;
  for (CsrMatrix out; stream->next(out);) {
    rows += out.rows();
    use_rows(out);
  }
  use_texts(stream->ids());
  use_texts(stream->terms());
  expect(rows == stream->info().rows, "rows are counted");
}

/// How keys become columns: collected, of a list, or column numbers.
RowStreamOptions options_for(std::size_t choice) {
  if (choice == 2) {
    StringTable terms;
    for (const char* term : {"a", "b", "pear"})
      terms.add(term);
    return {.vocabulary = terms, .vocabulary_path = "terms.txt"};
  }
  if (choice == 3) return {.keys = VectorKeys::kIndices, .ids = RowIds::kIgnore};
  return {};
}

const Target kTarget("jsonl", [](std::string_view bytes) {
  // what one way refuses, another may accept
  read_all(bytes, options_for(bytes.size() % 4));
});

}  // namespace
}  // namespace bulksim::fuzz
