#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bulksim/core/types.hpp"
#include "bulksim/sparse/quantized_rows.hpp"

namespace bulksim {

/// A set of numbers below `size` with the rank of each member: one bit per number and four bytes
/// per word.
///
/// word w holds numbers 64 w .. 64 w + 63; before[w] counts the members in the words before it.
class RankedSet {
 public:
  void reset(std::int64_t size) { words_.assign(size / 64 + 1, Word{}); }
  void insert(std::uint32_t number) {
    words_.data()[number / 64].bits |= std::uint64_t{1} << (number % 64);
  }
  /// Computes the ranks; call it after the last insert. Returns the number of members.
  std::uint32_t rank();

  static constexpr std::uint32_t kAbsent = 0xFFFFFFFF;
  /// The rank of a member (how many members are smaller), or kAbsent.
  std::uint32_t find(std::uint32_t number) const {
    const Place place = this->place(number);
    return place.present == 0 ? kAbsent : place.smaller;
  }
  /// Result of a branch-free `find`, for unpredictable membership.
  struct Place {
    std::uint32_t smaller;  ///< members below the number
    std::uint32_t present;  ///< 1 for a member, else 0
  };
  Place place(std::uint32_t number) const {
    const Word& word = words_.data()[number / 64];
    const std::uint64_t up_to = word.bits << (63 - number % 64);  // the number in the top bit
    const auto present = static_cast<std::uint32_t>(up_to >> 63);
    return {word.before + std::popcount(up_to) - present, present};
  }
  /// Removes the members for which `is_dropped(rank)`, and computes the ranks again.
  template <class IsDropped>
  void drop(IsDropped&& is_dropped);
  std::int64_t bytes() const { return words_.size() * sizeof(Word); }

 private:
  struct Word {
    std::uint64_t bits = 0;
    std::uint32_t before = 0;
  };
  std::vector<Word> words_;
};

template <class IsDropped>
void RankedSet::drop(IsDropped&& is_dropped) {
  std::uint32_t number = 0;
  for (Word& word : words_) {
    for (std::uint64_t left = word.bits; left != 0; left &= left - 1) {
      if (is_dropped(number++)) word.bits &= ~(left & -left);
    }
  }
  rank();
}

/// The columns that occur in the queries, numbered ("labelled") by descending query frequency, by
/// column where frequencies are equal. Item columns outside the vocabulary occur in no query and
/// are dropped early.
class Vocabulary {
 public:
  Vocabulary() : labels_(1) { members_.reset(columns_); }
  /// Without the columns that occur in fewer than `least_frequency` queries.
  explicit Vocabulary(const QuantizedRows& queries, std::int64_t least_frequency = 1);

  std::uint32_t size() const { return static_cast<std::uint32_t>(labels_.size()) - 1; }
  /// Label of a column, or RankedSet::kAbsent.
  std::uint32_t label(Column column) const {
    const Place place = this->place(column);
    return place.present == 0 ? RankedSet::kAbsent : place.label;
  }
  /// Result of a branch-free `label`, for unpredictable columns.
  struct Place {
    std::uint32_t label;    ///< meaningless where the column is absent
    std::uint32_t present;  ///< 1 for a column of the queries, else 0
  };
  Place place(Column column) const {
    const RankedSet::Place place = members_.place(std::min(column, columns_));
    return {labels_.data()[place.smaller], place.present};
  }
  std::int64_t bytes() const {
    return members_.bytes() + static_cast<std::int64_t>(labels_.size() * sizeof(std::uint32_t));
  }

 private:
  Column columns_ = 0;  // stands for all columns from the number of those of the queries on
  RankedSet members_;
  std::vector<std::uint32_t> labels_;  // by rank of the query column, and one for absent columns
};

}  // namespace bulksim
