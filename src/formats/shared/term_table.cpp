#include "formats/shared/term_table.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kFirstSlots = 1024;
constexpr std::size_t kWordBytes = 8;
constexpr std::size_t kMostInlineBytes = 24;

template <class T>
std::uint64_t load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// All bytes of a text of at most 8; different texts of equal length make different words.
std::uint64_t short_word(std::string_view text) {
  const char* first = text.data();
  const std::size_t size = text.size();
  if (size == kWordBytes) return load<std::uint64_t>(first);
  if (size >= 4) {
    return load<std::uint32_t>(first) | load<std::uint32_t>(first + size - 4) << 32;
  }
  if (size == 0) return 0;
  return load<std::uint8_t>(first) | load<std::uint8_t>(first + size / 2) << 8 |
         load<std::uint8_t>(first + size - 1) << 16;
}

/// The high and the low half of a product, mixed.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// The first bytes of a text as a number that sorts like them.
std::uint64_t sorting_prefix(std::string_view text) {
  std::uint64_t prefix = 0;
  for (std::size_t at = 0; at < sizeof prefix; ++at) {
    prefix = prefix << 8 | (at < text.size() ? static_cast<unsigned char>(text[at]) : 0U);
  }
  return prefix;
}

}  // namespace

TermTable::TermTable() : slots_(kFirstSlots) {}

std::int64_t TermTable::find(std::string_view text) const {
  return find(text, search_of(text));
}

std::int64_t TermTable::insert(std::string_view text) {
  return insert(text, search_of(text));
}

std::span<const std::int64_t> TermTable::find_all(std::span<const std::string_view> texts) {
  fetch(texts);
  for (std::size_t i = 0; i < texts.size(); ++i)
    numbers_[i] = find(texts[i], searches_[i]);
  return numbers_;
}

std::span<const std::int64_t> TermTable::insert_all(std::span<const std::string_view> texts) {
  fetch(texts);
  for (std::size_t i = 0; i < texts.size(); ++i)
    numbers_[i] = insert(texts[i], searches_[i]);
  return numbers_;
}

TermTable::Search TermTable::search_of(std::string_view text) {
  Search search;
  Words& words = search.words;
  const std::size_t size = text.size();
  search.length = static_cast<std::uint32_t>(size);
  if (size <= kWordBytes) {
    words[0] = short_word(text);
  } else if (size <= kMostInlineBytes) {
    // words may overlap: together they still hold every byte
    words[0] = load<std::uint64_t>(text.data());
    words[1] = load<std::uint64_t>(text.data() + std::min(size - kWordBytes, kWordBytes));
    words[2] = load<std::uint64_t>(text.data() + size - kWordBytes);
  } else {
    const Digest digest = digest_of(std::as_bytes(std::span(text.data(), size)));
    words = {digest.high, digest.low, 0};
  }
  search.hash = fold(words[0] ^ 0x9E3779B97F4A7C15, words[1] ^ 0xC2B2AE3D27D4EB4F) ^
                fold(words[2] ^ 0x165667B19E3779F9, size ^ 0x85EBCA77C2B2AE63);
  search.hash = fold(search.hash, 0x9E3779B97F4A7C15);
  return search;
}

/// Prefetches the slots of all texts: a large table does not fit into the caches.
void TermTable::fetch(std::span<const std::string_view> texts) {
  const std::size_t mask = slots_.size() - 1;
  searches_.resize(texts.size());
  numbers_.resize(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    searches_[i] = search_of(texts[i]);
    __builtin_prefetch(&slots_[searches_[i].hash & mask]);
  }
}

std::int64_t TermTable::find(std::string_view text, const Search& search) const {
  return std::int64_t{slots_[slot_of(text, search)].number} - 1;
}

std::int64_t TermTable::insert(std::string_view text, const Search& search) {
  Slot& slot = slots_[slot_of(text, search)];
  if (slot.number != 0) return std::int64_t{slot.number} - 1;
  if (texts_.size() == std::numeric_limits<std::uint32_t>::max() - 1) {
    throw Error(ExitCode::kDataError, "there are more than 2^32 different terms or ids");
  }
  texts_.add(text);
  slot = {search.words, search.length, static_cast<std::uint32_t>(texts_.size())};
  if (4 * static_cast<std::size_t>(texts_.size()) > 3 * slots_.size()) grow();
  return texts_.size() - 1;
}

/// The slot of a text, or the free one that it would take.
std::size_t TermTable::slot_of(std::string_view text, const Search& search) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = search.hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.number == 0) return at;
    if (slot.words != search.words || slot.length != search.length) continue;
    if (text.size() <= kMostInlineBytes || texts_[slot.number - std::int64_t{1}] == text) return at;
  }
}

void TermTable::grow() {
  std::vector<Slot> slots(2 * slots_.size());
  for (const Slot& slot : slots_) {
    if (slot.number == 0) continue;
    std::size_t at = search_of(texts_[slot.number - std::int64_t{1}]).hash & (slots.size() - 1);
    while (slots[at].number != 0)
      at = (at + 1) & (slots.size() - 1);
    slots[at] = slot;
  }
  slots_ = std::move(slots);
}

// Few comparisons need more than the first bytes.
std::vector<std::uint32_t> TermTable::sorted_numbers() const {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  for (std::int64_t number = 0; number < texts_.size(); ++number)
    keys.emplace_back(sorting_prefix(texts_[number]), static_cast<std::uint32_t>(number));
  std::sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return texts_[a.second] < texts_[b.second];
  });
  std::vector<std::uint32_t> numbers;
  for (const auto& [prefix, number] : keys)
    numbers.push_back(number);
  return numbers;
}

}  // namespace bulksim
