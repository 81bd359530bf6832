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

const Target kTarget("jsonl", [](std::string_view bytes) {
  // either mode may refuse what the other accepts
  const bool indices = bytes.size() % 4 == 3;
  read_all(bytes, indices ? RowStreamOptions{.keys = VectorKeys::kIndices, .ids = RowIds::kIgnore}
                          : RowStreamOptions{});
});

}  // namespace
}  // namespace bulksim::fuzz
