#include "formats/shared/text_lines.hpp"
#include "fuzz.hpp"

namespace bulksim::fuzz {
namespace {

const Target kTarget("ids", [](std::string_view bytes) {
  OneFile calls(bytes);
  use_texts(read_lines(calls, "x.txt"));
});

}  // namespace
}  // namespace bulksim::fuzz
