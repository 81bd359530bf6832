#include "storage/run/journal.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

#include "core/crc.hpp"

namespace bulksim {

namespace {

constexpr std::array<char, 4> kMagic{'B', 'S', 'J', '1'};
constexpr std::uint16_t kVersion = 1;

enum Kind : std::uint16_t { kTile = 1, kSynced = 2, kDropped = 3, kSyncFailed = 4 };

struct Record {
  std::array<char, 4> magic = kMagic;
  std::uint16_t version = kVersion;
  std::uint16_t kind = 0;
  std::uint64_t plan = 0;
  std::uint32_t attempt = 0;
  std::uint32_t rank = 0;
  std::int64_t number = 0;
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::uint64_t reserved = 0;
  std::uint32_t reserved_too = 0;
  std::uint32_t crc = 0;
};

constexpr std::int64_t kRecordBytes = 64;
static_assert(sizeof(Record) == kRecordBytes && std::endian::native == std::endian::little);

std::optional<Record> record_at(const std::string& text, std::size_t at, const Digest& plan) {
  Record record;
  if (text.size() - at < sizeof record) return std::nullopt;
  std::memcpy(&record, text.data() + at, sizeof record);
  const bool ours = record.magic == kMagic && record.version == kVersion &&
                    record.crc == crc_of_record(record) && record.plan == plan.low;
  return ours ? std::optional(record) : std::nullopt;
}

}  // namespace

Journal::Journal(FileCalls& calls, const std::string& path, JournalOwner owner)
    : owner_(owner),
      file_(File::open(calls, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600)) {
  sync_directory(calls, parent_of(path));
}

void Journal::tile_done(std::int64_t tile, const Digest& digest) {
  append(kTile, tile, digest);
}

void Journal::tile_dropped(std::int64_t tile) {
  append(kDropped, tile, {});
}

std::int64_t Journal::records() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

void Journal::synced(std::int64_t records) {
  append(kSynced, records, {});
  file_.sync_data();
}

void Journal::sync_failed() {
  append(kSyncFailed, 0, {});
  file_.sync_data();
}

void Journal::append(int kind, std::int64_t number, const Digest& digest) {
  Record record;
  record.kind = static_cast<std::uint16_t>(kind);
  record.plan = owner_.plan.low;
  record.attempt = owner_.attempt;
  record.rank = owner_.rank;
  record.number = number;
  record.high = digest.high;
  record.low = digest.low;
  record.crc = crc_of_record(record);
  const std::lock_guard lock(mutex_);
  file_.write(std::as_bytes(std::span(&record, 1)), records_ * kRecordBytes);
  ++records_;
}

JournalContent read_journal(FileCalls& calls, const std::string& path, const Digest& plan) {
  const std::string text = read_text(calls, path);
  JournalContent content;
  std::vector<std::int64_t> places;  // of each tile among the records
  std::int64_t covered = 0;
  for (std::size_t at = 0; at < text.size(); at += sizeof(Record)) {
    const auto record = record_at(text, at, plan);
    if (!record) {
      ++content.torn;
      continue;
    }
    content.attempt = record->attempt;
    content.rank = record->rank;
    switch (record->kind) {
      case kTile:
        content.tiles.push_back({record->number, {record->high, record->low}, Trust::kWritten});
        places.push_back(static_cast<std::int64_t>(at / sizeof(Record)));
        break;
      case kSynced:
        covered = record->number;
        break;
      case kDropped:
        content.dropped.push_back(record->number);
        break;
      default:
        content.sync_failed = true;
    }
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < covered) {
      content.tiles[i].trust = Trust::kDurable;
    } else if (content.sync_failed) {
      content.tiles[i].trust = Trust::kLost;
    }
  }
  return content;
}

}  // namespace bulksim
