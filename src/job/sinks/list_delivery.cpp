#include "job/sinks/list_delivery.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <span>

namespace bulksim {

namespace {

/// A list on its way to another rank: query and number of rank keys, followed by them.
struct ListHeader {
  std::int64_t query = 0;
  std::int64_t count = 0;
};

template <class T>
void append(std::vector<std::byte>& out, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
T take(std::span<const std::byte>& in) {
  T value;
  std::memcpy(&value, in.data(), sizeof value);
  in = in.subspan(sizeof value);
  return value;
}

/// The rows of tiles of each rank: neighbouring ones.
RowRange rows_of_rank(RowRange rows, int rank, int ranks) {
  return {rows.begin + rows.size() * rank / ranks, rows.begin + rows.size() * (rank + 1) / ranks};
}

RowRange queries_of(const TileGrid& grid, RowRange rows) {
  if (rows.empty()) return {0, 0};
  return {grid.queries(rows.begin).begin, grid.queries(rows.end - 1).end};
}

/// The best rank keys of each query.
using Lists = std::map<std::int64_t, std::vector<std::uint64_t>>;

/// The lists of these queries from all ranks, put together.
Lists exchange_lists(const PairBackend& backend, const PairFilterSpec& filter, const TileGrid& grid,
                     RowRange rows, Communicator& comm) {
  std::vector<std::vector<std::byte>> out(comm.size());
  for (int rank = 0; rank < comm.size(); ++rank) {
    const RowRange queries = queries_of(grid, rows_of_rank(rows, rank, comm.size()));
    backend.for_each_list(queries, [&](const PairStripe& list) {
      append(out[rank], ListHeader{list.query, std::ssize(list.pairs)});
      for (const ScoredItem& pair : list.pairs)
        append(out[rank], rank_key(filter, list.query, pair.item, pair.score));
    });
  }
  Lists lists;
  for (const auto& bytes : comm.exchange(out)) {
    for (std::span<const std::byte> rest = bytes; !rest.empty();) {
      const auto header = take<ListHeader>(rest);
      auto& keys = lists[header.query];
      for (std::int64_t at = 0; at < header.count; ++at)
        keys.push_back(take<std::uint64_t>(rest));
    }
  }
  return lists;
}

}  // namespace

void deliver_lists(const PairBackend& backend, const PairFilterSpec& filter, const TileGrid& grid,
                   RowRange rows, const std::vector<std::int64_t>& tiles, PairSink& sink,
                   Communicator& comm) {
  const RowRange own = rows_of_rank(rows, comm.rank(), comm.size());
  std::vector<TileId> finished;
  for (const std::int64_t tile : tiles) {
    const TileId id = grid.id(tile);
    if (own.begin <= id.row && id.row < own.end) finished.push_back(id);
  }
  const auto writer = sink.make_writer();
  const PairWork work{finished, PairWork::Stage::kLists};
  if (comm.size() == 1) {
    if (finished.empty()) return;
    writer->begin(work);
    backend.for_each_list(queries_of(grid, own),
                          [&](const PairStripe& list) { writer->write(list); });
    writer->finish();
    return;
  }
  Lists lists = exchange_lists(backend, filter, grid, rows, comm);
  if (finished.empty()) return;
  writer->begin(work);
  std::vector<ScoredItem> pairs;
  for (auto& [query, keys] : lists) {
    const auto kept = std::min<std::ptrdiff_t>(filter.count, std::ssize(keys));
    std::ranges::nth_element(keys, keys.begin() + kept - 1, std::greater<>());
    keys.resize(kept);
    pairs.clear();
    for (const std::uint64_t key : keys)
      pairs.push_back({item_of(key), score_of(key)});
    std::ranges::sort(pairs, {}, &ScoredItem::item);
    writer->write({query, pairs});
  }
  writer->finish();
}

}  // namespace bulksim
