#include "formats/shared/line_reader.hpp"
#include "fuzz.hpp"

namespace bulksim::fuzz {
namespace {

const Target kTarget("gzip", [](std::string_view bytes) {
  OneFile calls(bytes);
  LineReader lines(calls, "x.gz");
  std::int64_t count = 0;
  while (lines.next())
    ++count;
  expect(count == lines.number(), "lines are counted");
  expect(lines.used() == std::ssize(bytes), "all bytes are used");
});

}  // namespace
}  // namespace bulksim::fuzz
