#pragma once

#include <cstdint>

#include "bulksim/core/file.hpp"
#include "bulksim/core/string_table.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// Ids of the rows and columns of a result; empty for a side without ids.
struct ResultIds {
  StringTable queries;  ///< one per row of the matrix, or empty
  StringTable items;    ///< one per column, or empty
};

/// Bytes of the longest id of each side; 0 for a side without ids.
struct IdWidths {
  std::int64_t queries = 0;
  std::int64_t items = 0;

  bool operator==(const IdWidths&) const = default;
};

/// Bytes of the longest id, at least 1; 0 for an empty list.
std::int64_t id_width(const StringTable& ids);
IdWidths widths_of(const ResultIds& ids);

/// Position of the ids of one side in a file: strings of equal length, padded with zeros.
struct IdPlace {
  std::int64_t at = 0;
  std::int64_t count = 0;
  std::int64_t width = 0;  ///< 0: no ids

  std::int64_t bytes() const { return count * width; }
  bool operator==(const IdPlace&) const = default;
};

struct IdPlaces {
  IdPlace queries;  ///< /query_ids
  IdPlace items;    ///< /item_ids

  bool operator==(const IdPlaces&) const = default;
};

/// Writes ids to their place, which has room for the longest of them.
void write_ids(const File& file, const StringTable& ids, const IdPlace& place);

/// The ids [rows.begin, rows.end) of a place; empty when the side has no ids.
StringTable load_ids(const File& file, const IdPlace& place, RowRange rows);

}  // namespace bulksim
