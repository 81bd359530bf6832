#include "formats/npz/npz.hpp"
#include "fuzz.hpp"

namespace bulksim::fuzz {
namespace {

constexpr std::int64_t kEnough = 64 * kRowBlockRows;  // few bytes can be many empty rows

const Target kTarget("npz", [](std::string_view bytes) {
  OneFile calls(bytes);
  const auto stream = open_npz(calls, "x.npz", {});
  std::int64_t rows = 0;
  for (CsrMatrix out; rows < kEnough && stream->next(out);) {
    rows += out.rows();
    use_rows(out);
  }
  expect(rows <= stream->info().rows, "there are as many rows as the shape says");
});

}  // namespace
}  // namespace bulksim::fuzz
