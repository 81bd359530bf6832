#include <algorithm>

#include "bulksim/formats/matrix_source.hpp"
#include "formats/spmat/spmat.hpp"
#include "fuzz.hpp"

namespace bulksim::fuzz {
namespace {

const Target kTarget("csr", [](std::string_view bytes) {
  OneFile calls(bytes);
  const auto source = open_spmat(calls, "x.csr", "x.csr");
  const std::int64_t rows = source->info().rows;
  CsrMatrix out;
  for (std::int64_t row = 0; row < rows; row += kRowBlockRows) {
    source->read({row, std::min(row + kRowBlockRows, rows)}, out);
    use_rows(out);
  }
});

}  // namespace
}  // namespace bulksim::fuzz
