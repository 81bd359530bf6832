#include <cstddef>

#include "fuzz.hpp"
#include "storage/run/journal.hpp"

namespace bulksim::fuzz {
namespace {

constexpr std::size_t kRecordBytes = 64;
constexpr std::size_t kCrcAt = 60;

const Target kTarget("journal", [](std::string_view bytes) {
  std::string mended(bytes);
  for (std::size_t at = 0; at < mended.size(); at += kRecordBytes)
    set_crc(mended, at, at + kCrcAt);
  OneFile calls(mended);
  const JournalContent content = read_journal(calls, "journal", {});
  const std::int64_t records = (std::ssize(bytes) + 63) / 64;
  expect(content.torn + std::ssize(content.tiles) + std::ssize(content.dropped) <= records,
         "a record is one thing");
});

}  // namespace
}  // namespace bulksim::fuzz
