#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bulksim/core/string_table.hpp"

namespace bulksim {

/// Different texts, numbered from 0 in the order of insertion; at most 2^32 - 1 of them.
class TermTable {
 public:
  static constexpr std::int64_t kAbsent = -1;

  TermTable();

  /// The number of a text, or kAbsent.
  std::int64_t find(std::string_view text) const;
  /// The number of a text, which is size() - 1 after the call when it is new.
  std::int64_t insert(std::string_view text);
  /// As `find` and `insert` of several texts, whose cache misses overlap; the result is valid until
  /// the next call.
  std::span<const std::int64_t> find_all(std::span<const std::string_view> texts);
  std::span<const std::int64_t> insert_all(std::span<const std::string_view> texts);
  /// The numbers of all texts in the order of their bytes.
  std::vector<std::uint32_t> sorted_numbers() const;
  std::int64_t size() const { return texts_.size(); }
  const StringTable& texts() const { return texts_; }

 private:
  /// The key of a text in its slot: its bytes if there are at most 24 of them, otherwise its
  /// hash.
  using Words = std::array<std::uint64_t, 3>;
  struct alignas(32) Slot {
    Words words{};
    std::uint32_t length = 0;
    std::uint32_t number = 0;  // plus 1; 0: the slot is free
  };
  struct Search {
    Words words{};
    std::uint32_t length = 0;
    std::uint64_t hash = 0;
  };

  static Search search_of(std::string_view text);
  std::int64_t find(std::string_view text, const Search& search) const;
  std::int64_t insert(std::string_view text, const Search& search);
  std::size_t slot_of(std::string_view text, const Search& search) const;
  void fetch(std::span<const std::string_view> texts);
  void grow();

  StringTable texts_;
  std::vector<Slot> slots_;            // a power of two, at most three quarters full
  std::vector<Search> searches_;       // of the texts of one call
  std::vector<std::int64_t> numbers_;  // of the same texts
};

}  // namespace bulksim
