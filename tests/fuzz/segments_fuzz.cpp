#include <cstring>

#include "bulksim/core/checksum.hpp"
#include "fuzz.hpp"
#include "storage/parts/pair_segments.hpp"

namespace bulksim::fuzz {
namespace {

constexpr std::int64_t kHeadBytes = 64;  // of a segment, as pair_segments.hpp describes it

/// The bytes with digests and checksums that match, as far as segments follow each other.
std::string mended(std::string_view bytes) {
  std::string out(bytes);
  for (std::int64_t at = 0; at + kHeadBytes <= std::ssize(out);) {
    std::int64_t sizes[2];  // rows, pairs
    std::memcpy(sizes, &out[at + 24], sizeof sizes);
    const std::int64_t most = std::ssize(out) - at - kHeadBytes;
    if (sizes[0] < 0 || sizes[1] < 0 || sizes[0] > most / 4 || sizes[1] > most / 8) break;
    const std::int64_t body = 4 * sizes[0] + 8 * sizes[1];
    if (body > most) break;
    const Digest digest = digest_of(std::as_bytes(std::span(out)).subspan(at + kHeadBytes, body));
    std::memcpy(&out[at + 40], &digest, sizeof digest);
    set_crc(out, at, at + 60);
    at += kHeadBytes + body;
  }
  return out;
}

const Target kTarget("segments", [](std::string_view bytes) {
  const std::string file = mended(bytes);
  OneFile calls(file);
  const TileGrid grid({20, 20}, {8, 8});
  tiles_with_segments(calls, {"x.pairs"}, {}, grid);
  const PairSegments segments(calls, {"x.pairs"}, {}, grid);
  for (std::int64_t tile = 0; tile < grid.count(); ++tile) {
    std::int64_t pairs = 0;
    for (const std::uint32_t count : segments.counts(tile))
      pairs += count;
    if (!segments.has(tile)) continue;
    expect(pairs == segments.place(tile).pairs, "the counts of rows add up to the pairs");
    std::vector<std::uint32_t> items(pairs);
    std::vector<float> scores(pairs);
    segments.read(tile, 0, items, scores);
  }
});

}  // namespace
}  // namespace bulksim::fuzz
