#include "fuzz.hpp"
#include "sparse/block_sparse.hpp"

namespace bulksim::fuzz {
namespace {

const Target kTarget("row_block", [](std::string_view bytes) {
  CsrMatrix rows;
  rows.columns = std::int64_t{1} << 20;
  if (decode_unchecked(std::as_bytes(std::span(bytes)), rows).empty()) use_rows(rows);
});

}  // namespace
}  // namespace bulksim::fuzz
