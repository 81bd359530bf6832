#include "formats/spmat/spmat.hpp"
#include "fuzz.hpp"

namespace bulksim::fuzz {
namespace {

const Target kTarget("csr", [](std::string_view bytes) {
  OneFile calls(bytes);
  use_source(*open_spmat(calls, "x.csr", "x.csr"));
});

}  // namespace
}  // namespace bulksim::fuzz
