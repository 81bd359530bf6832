#include <algorithm>
#include <cstring>

#include "bulksim/core/checksum.hpp"
#include "fuzz.hpp"
#include "storage/parts/pair_runs.hpp"

namespace bulksim::fuzz {
namespace {

constexpr std::int64_t kHeadBytes = 64;  // of a run, as pair_runs.hpp describes it

/// The bytes with digests and checksums that match, as far as runs follow each other.
std::string mended(std::string_view bytes) {
  std::string out(bytes);
  for (std::int64_t at = 0; at + kHeadBytes <= std::ssize(out);) {
    std::int64_t sizes[3];  // tile ranges, rows, pairs
    std::memcpy(sizes, &out[at + 16], sizeof sizes);
    const std::int64_t most = std::ssize(out) - at - kHeadBytes;
    if (std::ranges::any_of(sizes, [&](std::int64_t size) { return size < 0 || size > most; })) {
      break;
    }
    const std::int64_t body = 16 * sizes[0] + 12 * sizes[1] + 8 * sizes[2];
    if (body > most) break;
    const Digest digest = digest_of(std::as_bytes(std::span(out)).subspan(at + kHeadBytes, body));
    std::memcpy(&out[at + 40], &digest, sizeof digest);
    set_crc(out, at, at + 60);
    at += kHeadBytes + body;
  }
  return out;
}

const Target kTarget("runs", [](std::string_view bytes) {
  const std::string file = mended(bytes);
  OneFile calls(file);
  const TileGrid grid({20, 20}, {8, 8});
  count_tiles_of_runs(calls, {"x.pairs"}, {}, grid);
  const PairRuns runs(calls, {"x.pairs"}, {}, grid);
  for (std::int64_t run = 0; run < runs.size(); ++run) {
    std::vector<std::int64_t> rows(runs.rows_of(run));
    std::vector<std::uint32_t> counts(rows.size());
    runs.read_rows(run, 0, rows, counts);
    std::int64_t pairs = 0;
    for (const std::uint32_t count : counts)
      pairs += count;
    expect(pairs == runs.pairs_of(run), "the counts of rows add up to the pairs");
    std::vector<std::int64_t> items(pairs);
    std::vector<float> scores(pairs);
    runs.read_pairs(run, 0, items, scores);
  }
});

}  // namespace
}  // namespace bulksim::fuzz
