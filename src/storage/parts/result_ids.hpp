#pragma once

#include <cstdint>

#include "bulksim/core/file.hpp"
#include "bulksim/core/string_table.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// Ids of the rows and columns of a result. A side without ids is empty.
struct ResultIds {
  StringTable queries;  ///< one a row of the matrix, or none
  StringTable items;    ///< one a column, or none
};

/// Bytes of the longest id of each side; 0 where there are none.
struct IdWidths {
  std::int64_t queries = 0;
  std::int64_t items = 0;

  bool operator==(const IdWidths&) const = default;
};

/// Bytes of the longest name, at least 1; 0 for an empty list.
std::int64_t id_width(const StringTable& ids);
IdWidths widths_of(const ResultIds& ids);

/// Where the ids of one side lie in a file: texts of one length, padded with zeros.
struct IdPlace {
  std::int64_t at = 0;
  std::int64_t count = 0;
  std::int64_t width = 0;  ///< 0: there are none

  std::int64_t bytes() const { return count * width; }
  bool operator==(const IdPlace&) const = default;
};

struct IdPlaces {
  IdPlace queries;  ///< /query_ids
  IdPlace items;    ///< /item_ids

  bool operator==(const IdPlaces&) const = default;
};

/// Writes ids into their place, which has room for the longest of them.
void write_ids(const File& file, const StringTable& ids, const IdPlace& place);

/// The ids [rows.begin, rows.end) of a place; none when there are none at all.
StringTable load_ids(const File& file, const IdPlace& place, RowRange rows);

}  // namespace bulksim
