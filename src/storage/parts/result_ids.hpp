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

/// Size of the ids of one side in a file.
struct IdSize {
  std::int64_t count = 0;  ///< 0: no ids
  std::int64_t bytes = 0;  ///< of the text of all ids
  /// In results of older versions: each id is padded with zeros to this many bytes.
  std::int64_t width = 0;

  /// Of what is in the file.
  std::int64_t file_bytes() const {
    return width > 0 ? count * width : count > 0 ? 8 * (count + 1) + bytes : 0;
  }
  bool operator==(const IdSize&) const = default;
};

struct IdSizes {
  IdSize queries;
  IdSize items;

  bool operator==(const IdSizes&) const = default;
};

IdSize size_of(const StringTable& ids);
IdSizes sizes_of(const ResultIds& ids);

/// Position of the ids of one side in a file: id i is the bytes [offsets[i], offsets[i + 1]) of the
/// text; the offsets are count + 1 int64.
struct IdPlace {
  IdSize size;
  std::int64_t offsets = 0;  ///< in the file, in bytes; 0 where ids are padded
  std::int64_t text = 0;     ///< 0 where the text is empty

  bool operator==(const IdPlace&) const = default;
};

struct IdPlaces {
  IdPlace queries;  ///< /query_ids
  IdPlace items;    ///< /item_ids

  IdSizes sizes() const { return {queries.size, items.size}; }
  bool operator==(const IdPlaces&) const = default;
};

/// Writes ids to their place, which has their size.
void write_ids(const File& file, const StringTable& ids, const IdPlace& place);

/// The ids [rows.begin, rows.end) of a place; empty when the side has no ids. Throws Error (65)
/// when the offsets are damaged.
StringTable load_ids(const File& file, const IdPlace& place, RowRange rows);

}  // namespace bulksim
