#include "formats/npz/npy.hpp"
#include "fuzz.hpp"

namespace bulksim::fuzz {
namespace {

const Target kTarget("npy", [](std::string_view bytes) {
  const NpyHeader header = parse_npy_header(std::string(bytes), "x.npy");
  expect(header.count() >= -1 && header.type.bytes >= 0, "sizes are not negative");
});

}  // namespace
}  // namespace bulksim::fuzz
