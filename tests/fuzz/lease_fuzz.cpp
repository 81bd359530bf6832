#include "fuzz.hpp"
#include "storage/run/lease_file.hpp"

namespace bulksim::fuzz {
namespace {

const Target kTarget("lease", [](std::string_view bytes) {
  OneFile calls(bytes);
  const auto holder = read_lease(calls, "LOCK");
  if (holder) expect(encode_lease(*holder).size() == kLeaseBytes, "a lease has one size");
});

}  // namespace
}  // namespace bulksim::fuzz
