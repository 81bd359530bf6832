#include "job/input/survey.hpp"

#include <algorithm>
#include <cstring>

#include "comm/collective_error.hpp"
#include "job/input/row_reader.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kMostCounters = std::int64_t{1} << 20;
constexpr std::int64_t kFramesAtOnce = kRowsAtOnce / kFrameRows;

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

/// Frames that one rank surveys.
RowRange share_of(std::int64_t frames, const Communicator& comm) {
  return {frames * comm.rank() / comm.size(), frames * (comm.rank() + 1) / comm.size()};
}

/// A frame whose rows were read; what its source knows of it is not found out again.
FrameSurvey survey_frame(const RowSurvey* known, std::int64_t frame, CsrView canonical) {
  if (known == nullptr) return {frame_digest(canonical), canonical.nnz(), 0};
  const auto at = static_cast<std::size_t>(frame);
  return {known->frame_digests[at], known->frame_nnz[at], 0};
}

/// One side, this rank's frames only. `see` gets the canonical rows of each frame.
template <class See>
InputSurvey survey_share(const MatrixSource& source, Irregular irregular, RowRange frames,
                         See&& see) {
  InputSurvey survey;
  CsrMatrix rows;
  for (std::int64_t frame = frames.begin; frame < frames.end; frame += kFramesAtOnce) {
    const RowRange range{
        frame * kFrameRows,
        std::min(std::min(frame + kFramesAtOnce, frames.end) * kFrameRows, source.info().rows)};
    source.read(range, rows);
    if (source.survey() == nullptr) {
      survey.counts += canonicalize(rows, irregular, source.info().path, range.begin);
      survey.longest_row = std::max(survey.longest_row, longest_row(rows.view()));
    }
    for (std::int64_t begin = 0; begin < rows.rows(); begin += kFrameRows) {
      const CsrView view = rows.view().slice({begin, std::min(begin + kFrameRows, rows.rows())});
      survey.frames.push_back(survey_frame(source.survey(), frame + begin / kFrameRows, view));
      survey.frames.back().work = see(view);
    }
  }
  return survey;
}

/// The shares of all ranks put together, at every rank.
InputSurvey merge_shares(const MatrixSource& source, const InputSurvey& share, Communicator& comm) {
  std::vector<std::byte> bytes;
  append(bytes, share.longest_row);
  append(bytes, share.counts);
  append(bytes, share.values);
  for (const FrameSurvey& frame : share.frames)
    append(bytes, frame);
  std::vector<std::byte> all;
  for (const auto& one : comm.gather(bytes)) {
    append(all, static_cast<std::int64_t>(one.size()));
    all.insert(all.end(), one.begin(), one.end());
  }
  comm.broadcast(all);

  InputSurvey survey;
  survey.rows = source.info().rows;
  survey.columns = source.info().columns;
  survey.vocabulary = source.info().vocabulary;
  for (std::span<const std::byte> rest = all; !rest.empty();) {
    const auto length = static_cast<std::size_t>(take<std::int64_t>(rest));
    auto one = rest.first(length);
    rest = rest.subspan(length);
    survey.longest_row = std::max(survey.longest_row, take<std::int64_t>(one));
    survey.counts += take<HygieneCounts>(one);
    survey.values += take<ValueFacts>(one);
    while (!one.empty())
      survey.frames.push_back(take<FrameSurvey>(one));
  }
  if (source.survey() != nullptr) {
    survey.longest_row = source.survey()->longest_row;
    survey.counts = source.survey()->counts;
  }
  return survey;
}

}  // namespace

std::int64_t InputSurvey::nnz() const {
  std::int64_t sum = 0;
  for (const FrameSurvey& frame : frames)
    sum += frame.nnz;
  return sum;
}

Digest InputSurvey::content() const {
  Hasher hasher;
  for (const FrameSurvey& frame : frames) {
    const std::uint64_t words[] = {frame.digest.high, frame.digest.low};
    hasher.update(std::as_bytes(std::span(words)));
  }
  return hasher.digest();
}

std::int64_t InputSurvey::nnz_of(RowRange range) const {
  std::int64_t sum = 0;
  for (std::int64_t frame = range.begin / kFrameRows; frame * kFrameRows < range.end; ++frame) {
    sum += frames[static_cast<std::size_t>(frame)].nnz;
  }
  return sum;
}

std::int64_t InputSurvey::work_of(RowRange range) const {
  std::int64_t sum = 0;
  for (std::int64_t frame = range.begin / kFrameRows; frame * kFrameRows < range.end; ++frame) {
    const std::int64_t begin = frame * kFrameRows;
    const std::int64_t size = std::min(kFrameRows, rows - begin);
    const std::int64_t covered = std::min(range.end, begin + size) - std::max(range.begin, begin);
    // work * covered may pass 2^63 only for more than 2^53 multiply-adds a frame
    sum += frames[static_cast<std::size_t>(frame)].work / size * covered;
  }
  return sum;
}

ColumnFrequency::ColumnFrequency(std::int64_t columns)
    : mask_(columns <= kMostCounters ? ~Column{0} : static_cast<Column>(kMostCounters - 1)),
      counts_(static_cast<std::size_t>(std::clamp<std::int64_t>(columns, 1, kMostCounters))) {}

void ColumnFrequency::add(std::span<const Column> columns) {
  for (const Column column : columns)
    ++counts_[column & mask_];
}

Surveys survey_inputs(const MatrixSource& queries, const MatrixSource& items, Irregular irregular,
                      Communicator& comm, Metric metric) {
  Surveys surveys;
  ValueFacts query_values;
  ValueFacts item_values;
  ColumnFrequency frequency(std::max(queries.info().columns, items.info().columns));
  run_collectively(comm, [&] {
    const auto frames = share_of(divide_up(queries.info().rows, kFrameRows), comm);
    surveys.queries = survey_share(queries, irregular, frames, [&](CsrView view) {
      if (metric == Metric::kDot) query_values += value_facts(view);
      for (std::int64_t row = 0; row < view.rows(); ++row)
        frequency.add(view.columns_of(row));
      return std::int64_t{0};
    });
  });
  comm.all_reduce_sum(frequency.counts());
  run_collectively(comm, [&] {
    const auto frames = share_of(divide_up(items.info().rows, kFrameRows), comm);
    surveys.items = survey_share(items, irregular, frames, [&](CsrView view) {
      if (metric == Metric::kDot) item_values += value_facts(view);
      std::int64_t work = 0;
      for (std::int64_t row = 0; row < view.rows(); ++row) {
        for (const Column column : view.columns_of(row))
          work += frequency.of(column);
      }
      return work;
    });
  });
  surveys.queries.values = query_values;
  surveys.items.values = item_values;
  surveys.queries = merge_shares(queries, surveys.queries, comm);
  surveys.items = merge_shares(items, surveys.items, comm);
  return surveys;
}

}  // namespace bulksim
