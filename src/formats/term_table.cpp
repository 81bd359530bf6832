#include "formats/term_table.hpp"

#include <limits>
#include <span>
#include <string>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kFirstSlots = 1024;

std::uint64_t hash_of(std::string_view text) {
  return digest_of(std::as_bytes(std::span(text.data(), text.size()))).low;
}

std::uint32_t tag_of(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash >> 32);
}

}  // namespace

TermTable::TermTable() : slots_(kFirstSlots) {}

std::int64_t TermTable::find(std::string_view text) const {
  return std::int64_t{slots_[slot_of(text, hash_of(text))].number} - 1;
}

std::int64_t TermTable::insert(std::string_view text) {
  return insert(text, hash_of(text));
}

std::span<const std::int64_t> TermTable::find_all(std::span<const std::string_view> texts) {
  fetch(texts);
  for (std::size_t i = 0; i < texts.size(); ++i)
    numbers_[i] = std::int64_t{slots_[slot_of(texts[i], hashes_[i])].number} - 1;
  return numbers_;
}

std::span<const std::int64_t> TermTable::insert_all(std::span<const std::string_view> texts) {
  fetch(texts);
  for (std::size_t i = 0; i < texts.size(); ++i)
    numbers_[i] = insert(texts[i], hashes_[i]);
  return numbers_;
}

/// Hashes the texts and asks for the memory of each step before any of them needs it: a large table
/// lies in no cache, and a search alone would wait three times.
void TermTable::fetch(std::span<const std::string_view> texts) {
  const std::size_t mask = slots_.size() - 1;
  hashes_.resize(texts.size());
  numbers_.resize(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    hashes_[i] = hash_of(texts[i]);
    __builtin_prefetch(&slots_[hashes_[i] & mask]);
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    numbers_[i] = slots_[hashes_[i] & mask].number;
    __builtin_prefetch(
        &texts_.offsets[numbers_[i] == 0 ? 0 : static_cast<std::size_t>(numbers_[i] - 1)]);
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (numbers_[i] != 0) __builtin_prefetch(texts_[numbers_[i] - 1].data());
  }
}

std::int64_t TermTable::insert(std::string_view text, std::uint64_t hash) {
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.number != 0) return std::int64_t{slot.number} - 1;
  if (texts_.size() == std::numeric_limits<std::uint32_t>::max() - 1) {
    throw Error(ExitCode::kDataError, "there are more than 2^32 different terms or ids");
  }
  texts_.add(text);
  slot = {tag_of(hash), static_cast<std::uint32_t>(texts_.size())};
  if (2 * static_cast<std::size_t>(texts_.size()) > slots_.size()) grow();
  return texts_.size() - 1;
}

/// The slot of a text, or the free one where it belongs.
std::size_t TermTable::slot_of(std::string_view text, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].number != 0 &&
         (slots_[at].tag != tag_of(hash) || texts_[slots_[at].number - std::int64_t{1}] != text)) {
    at = (at + 1) & mask;
  }
  return at;
}

void TermTable::grow() {
  std::vector<Slot> slots(2 * slots_.size());
  for (std::int64_t number = 0; number < texts_.size(); ++number) {
    const std::uint64_t hash = hash_of(texts_[number]);
    std::size_t at = hash & (slots.size() - 1);
    while (slots[at].number != 0)
      at = (at + 1) & (slots.size() - 1);
    slots[at] = {tag_of(hash), static_cast<std::uint32_t>(number + 1)};
  }
  slots_ = std::move(slots);
}

}  // namespace bulksim
