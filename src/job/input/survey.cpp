#include "job/input/survey.hpp"

#include <algorithm>
#include <cstring>
#include <future>

#include "comm/collective_error.hpp"
#include "job/input/row_reader.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kMostCounters = std::int64_t{1} << 20;
constexpr std::int64_t kRowBlocksAtOnce = kRowsAtOnce / kRowBlockRows;

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

/// Row blocks that one rank surveys.
RowRange share_of(std::int64_t row_blocks, const Communicator& comm) {
  return {row_blocks * comm.rank() / comm.size(), row_blocks * (comm.rank() + 1) / comm.size()};
}

/// A row block whose rows were read; what its source carries about it is not computed again.
RowBlockSurvey survey_row_block(const RowSurvey* known, std::int64_t row_block, CsrView canonical) {
  if (known == nullptr) return {row_block_digest(canonical), canonical.nnz(), 0};
  const std::size_t at = row_block;
  return {known->row_block_digests[at], known->row_block_nnz[at], 0};
}

bool knows_rounding(const MatrixSource& source) {
  return source.survey() != nullptr && source.survey()->rounding;
}

/// One side, this rank's row blocks only. `see` receives the canonical rows of each row block.
template <class See>
InputSurvey survey_share(const MatrixSource& source, Irregular irregular, Metric metric,
                         RowRange row_blocks, See&& see) {
  InputSurvey survey;
  CsrMatrix rows;
  const bool needs_values = metric == Metric::kDot || !knows_rounding(source);
  for (std::int64_t row_block = row_blocks.begin; row_block < row_blocks.end;
       row_block += kRowBlocksAtOnce) {
    const RowRange range{
        row_block * kRowBlockRows,
        std::min(std::min(row_block + kRowBlocksAtOnce, row_blocks.end) * kRowBlockRows,
                 source.info().rows)};
    source.read(range, rows);
    if (source.survey() == nullptr) {
      survey.counts += canonicalize(rows, irregular, source.info().path, range.begin);
      survey.longest_row = std::max(survey.longest_row, longest_row(rows.view()));
    }
    std::future<ValueInfo> values;  // takes about as long as the loop
    if (needs_values) {
      values = std::async(std::launch::async, [&rows] { return value_info(rows.view()); });
    }
    for (std::int64_t begin = 0; begin < rows.rows(); begin += kRowBlockRows) {
      const CsrView view = rows.view().slice({begin, std::min(begin + kRowBlockRows, rows.rows())});
      survey.row_blocks.push_back(
          survey_row_block(source.survey(), row_block + begin / kRowBlockRows, view));
      survey.row_blocks.back().work = see(view);
    }
    if (needs_values) survey.values += values.get();
  }
  return survey;
}

/// The shares of all ranks put together, at every rank.
InputSurvey merge_shares(const MatrixSource& source, const InputSurvey& share, Communicator& comm) {
  std::vector<std::byte> bytes;
  append(bytes, share.longest_row);
  append(bytes, share.counts);
  append(bytes, share.values);
  for (const RowBlockSurvey& row_block : share.row_blocks)
    append(bytes, row_block);
  std::vector<std::byte> all;
  for (const auto& one : comm.gather(bytes)) {
    append(all, std::ssize(one));
    all.insert(all.end(), one.begin(), one.end());
  }
  comm.broadcast(all);

  InputSurvey survey;
  survey.rows = source.info().rows;
  survey.columns = source.info().columns;
  survey.vocabulary = source.info().vocabulary;
  for (std::span<const std::byte> rest = all; !rest.empty();) {
    const std::size_t length = take<std::int64_t>(rest);
    auto one = rest.first(length);
    rest = rest.subspan(length);
    survey.longest_row = std::max(survey.longest_row, take<std::int64_t>(one));
    survey.counts += take<CanonicalizationCounts>(one);
    survey.values += take<ValueInfo>(one);
    while (!one.empty())
      survey.row_blocks.push_back(take<RowBlockSurvey>(one));
  }
  if (source.survey() != nullptr) {
    survey.longest_row = source.survey()->longest_row;
    survey.counts = source.survey()->counts;
  }
  if (knows_rounding(source)) survey.values.rounding = *source.survey()->rounding;
  return survey;
}

}  // namespace

std::int64_t InputSurvey::nnz() const {
  std::int64_t sum = 0;
  for (const RowBlockSurvey& row_block : row_blocks)
    sum += row_block.nnz;
  return sum;
}

Digest InputSurvey::content() const {
  ContentHasher content;
  for (const RowBlockSurvey& row_block : row_blocks)
    content.add(row_block.digest);
  return content.digest();
}

std::int64_t InputSurvey::nnz_of(RowRange range) const {
  std::int64_t sum = 0;
  for (std::int64_t row_block = range.begin / kRowBlockRows; row_block * kRowBlockRows < range.end;
       ++row_block) {
    sum += row_blocks[row_block].nnz;
  }
  return sum;
}

std::int64_t InputSurvey::work_of(RowRange range) const {
  std::int64_t sum = 0;
  for (std::int64_t row_block = range.begin / kRowBlockRows; row_block * kRowBlockRows < range.end;
       ++row_block) {
    const std::int64_t begin = row_block * kRowBlockRows;
    const std::int64_t size = std::min(kRowBlockRows, rows - begin);
    const std::int64_t covered = std::min(range.end, begin + size) - std::max(range.begin, begin);
    // work * covered may pass 2^63 only for more than 2^53 multiply-adds per row block
    sum += row_blocks[row_block].work / size * covered;
  }
  return sum;
}

ColumnFrequency::ColumnFrequency(std::int64_t columns)
    : mask_(columns <= kMostCounters ? ~Column{0} : static_cast<Column>(kMostCounters - 1)),
      counts_(std::clamp<std::int64_t>(columns, 1, kMostCounters)) {}

void ColumnFrequency::add(std::span<const Column> columns) {
  for (const Column column : columns)
    ++counts_[column & mask_];
}

Surveys survey_inputs(const MatrixSource& queries, const MatrixSource& items, Irregular irregular,
                      Communicator& comm, Metric metric) {
  Surveys surveys;
  ColumnFrequency frequency(std::max(queries.info().columns, items.info().columns));
  run_collectively(comm, [&] {
    const auto row_blocks = share_of(divide_up(queries.info().rows, kRowBlockRows), comm);
    surveys.queries = survey_share(queries, irregular, metric, row_blocks, [&](CsrView view) {
      for (std::int64_t row = 0; row < view.rows(); ++row)
        frequency.add(view.columns_of(row));
      return std::int64_t{0};
    });
  });
  comm.all_reduce_sum(frequency.counts());
  run_collectively(comm, [&] {
    const auto row_blocks = share_of(divide_up(items.info().rows, kRowBlockRows), comm);
    surveys.items = survey_share(items, irregular, metric, row_blocks, [&](CsrView view) {
      std::int64_t work = 0;
      for (std::int64_t row = 0; row < view.rows(); ++row) {
        for (const Column column : view.columns_of(row))
          work += frequency.of(column);
      }
      return work;
    });
  });
  surveys.queries = merge_shares(queries, surveys.queries, comm);
  surveys.items = merge_shares(items, surveys.items, comm);
  return surveys;
}

}  // namespace bulksim
