#pragma once

#include <cstdint>

#include "bulksim/core/file.hpp"
#include "bulksim/core/text_list.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// Names of the rows and columns of a result. A side without names is empty.
struct ResultNames {
  TextList queries;  ///< one a row of the matrix, or none
  TextList items;    ///< one a column, or none
};

/// Bytes of the longest name of each side; 0 where there are none.
struct NameWidths {
  std::int64_t queries = 0;
  std::int64_t items = 0;

  bool operator==(const NameWidths&) const = default;
};

/// Bytes of the longest name, at least 1; 0 for an empty list.
std::int64_t name_width(const TextList& names);
NameWidths widths_of(const ResultNames& names);

/// Where the names of one side lie in a file: texts of one length, padded with zeros.
struct NamePlace {
  std::int64_t at = 0;
  std::int64_t count = 0;
  std::int64_t width = 0;  ///< 0: there are none

  std::int64_t bytes() const { return count * width; }
  bool operator==(const NamePlace&) const = default;
};

struct NamePlaces {
  NamePlace queries;  ///< /query_ids
  NamePlace items;    ///< /item_ids

  bool operator==(const NamePlaces&) const = default;
};

/// Writes names into their place, which has room for the longest of them.
void write_names(const File& file, const TextList& names, const NamePlace& place);

/// The names [rows.begin, rows.end) of a place; none when there are none at all.
TextList load_names(const File& file, const NamePlace& place, RowRange rows);

}  // namespace bulksim
