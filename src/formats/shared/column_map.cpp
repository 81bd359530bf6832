#include "formats/shared/column_map.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bulksim/core/error.hpp"
#include "formats/shared/term_table.hpp"

namespace bulksim {

namespace {

/// A matrix whose columns are renumbered within a larger set.
class MappedSource final : public MatrixSource {
 public:
  /// `map` has the new number of each column. `terms` are those of the new columns.
  MappedSource(std::unique_ptr<MatrixSource> source, std::vector<Column> map,
               std::shared_ptr<const StringTable> terms)
      : source_(std::move(source)),
        map_(std::move(map)),
        ascending_(std::is_sorted(map_.begin(), map_.end())),
        terms_(std::move(terms)),
        info_(source_->info()) {
    info_.columns = terms_->size();
    info_.vocabulary = terms_->digest();
  }

  const MatrixInfo& info() const override { return info_; }
  std::int64_t entries_of(RowRange range) const override { return source_->entries_of(range); }
  const RowSurvey* survey() const override { return nullptr; }  // digests are of other columns
  StringTable ids() const override { return source_->ids(); }
  StringTable terms() const override { return *terms_; }

  void read(RowRange range, CsrMatrix& out) const override {
    source_->read(range, out);
    out.columns = info_.columns;
    for (Column& column : out.col_indices)
      column = map_[column];
    if (!ascending_) sort_rows(out);
  }

 private:
  /// Rows that were sorted stay sorted: their order by the new numbers is not an irregularity of
  /// the file.
  static void sort_rows(CsrMatrix& rows) {
    std::vector<std::pair<Column, double>> entries;
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      const std::size_t begin = rows.row_offsets[row];
      const std::size_t end = rows.row_offsets[row + 1];
      entries.clear();
      for (std::size_t at = begin; at < end; ++at)
        entries.emplace_back(rows.col_indices[at], rows.values[at]);
      std::stable_sort(entries.begin(), entries.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (std::size_t at = begin; at < end; ++at)
        std::tie(rows.col_indices[at], rows.values[at]) = entries[at - begin];
    }
  }

  std::unique_ptr<MatrixSource> source_;
  std::vector<Column> map_;
  bool ascending_;
  std::shared_ptr<const StringTable> terms_;
  MatrixInfo info_;
};

/// A matrix with empty columns after its own.
class WidenedSource final : public MatrixSource {
 public:
  WidenedSource(std::unique_ptr<MatrixSource> source, std::int64_t columns)
      : source_(std::move(source)), info_(source_->info()) {
    info_.columns = columns;
    info_.ends_with_last_column = false;
  }

  const MatrixInfo& info() const override { return info_; }
  std::int64_t entries_of(RowRange range) const override { return source_->entries_of(range); }
  const RowSurvey* survey() const override { return source_->survey(); }
  StringTable ids() const override { return source_->ids(); }
  StringTable terms() const override { return {}; }
  void read(RowRange range, CsrMatrix& out) const override {
    source_->read(range, out);
    out.columns = info_.columns;
  }

 private:
  std::unique_ptr<MatrixSource> source_;
  MatrixInfo info_;
};

StringTable sorted_union(const StringTable& a, const StringTable& b) {
  std::vector<std::string_view> all;
  for (const StringTable* list : {&a, &b}) {
    for (std::int64_t i = 0; i < list->size(); ++i)
      all.push_back((*list)[i]);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  StringTable merged;
  for (const std::string_view term : all)
    merged.add(term);
  return merged;
}

/// Gives a side with terms the columns of a vocabulary, if they differ.
void map_to(const std::shared_ptr<const StringTable>& terms, const std::string& path,
            std::unique_ptr<MatrixSource>& source) {
  if (source->info().vocabulary == terms->digest()) return;
  TermTable table;
  for (std::int64_t column = 0; column < terms->size(); ++column)
    table.insert((*terms)[column]);
  const StringTable own = source->terms();
  std::vector<Column> map;
  for (std::int64_t column = 0; column < own.size(); ++column) {
    const std::int64_t to = table.find(own[column]);
    if (to == TermTable::kAbsent) {
      throw Error(ExitCode::kDataError, "the term '" + std::string(own[column]) + "' of '" +
                                            source->info().path + "' is not in the vocabulary '" +
                                            path + "'");
    }
    map.push_back(static_cast<Column>(to));
  }
  source = std::make_unique<MappedSource>(std::move(source), std::move(map), terms);
}

void widen(std::int64_t columns, std::unique_ptr<MatrixSource>& source) {
  const MatrixInfo& info = source->info();
  if (!info.ends_with_last_column || info.columns >= columns) return;
  source = std::make_unique<WidenedSource>(std::move(source), columns);
}

void give_vocabulary(const NamedVocabulary& vocabulary,
                     const std::shared_ptr<const StringTable>& terms,
                     std::unique_ptr<MatrixSource>& source) {
  if (source->info().vocabulary) return map_to(terms, vocabulary.path, source);
  widen(terms->size(), source);
  if (source->info().columns == terms->size()) return;
  throw Error(ExitCode::kDataError, "'" + source->info().path + "' has " +
                                        std::to_string(source->info().columns) +
                                        " columns, but the vocabulary '" + vocabulary.path +
                                        "' has " + std::to_string(terms->size()) + " terms");
}

}  // namespace

SourcePair match_columns(SourcePair sources, const std::optional<NamedVocabulary>& vocabulary) {
  if (vocabulary) {
    const auto terms = std::make_shared<const StringTable>(vocabulary->terms);
    give_vocabulary(*vocabulary, terms, sources.queries);
    give_vocabulary(*vocabulary, terms, sources.items);
    return sources;
  }
  const MatrixInfo& queries = sources.queries->info();
  const MatrixInfo& items = sources.items->info();
  if (queries.vocabulary == items.vocabulary) {
    const std::int64_t columns = std::max(queries.columns, items.columns);
    widen(columns, sources.queries);
    widen(columns, sources.items);
    return sources;
  }
  if (!queries.vocabulary || !items.vocabulary) {
    const MatrixInfo& named = queries.vocabulary ? queries : items;
    const MatrixInfo& other = queries.vocabulary ? items : queries;
    throw Error(
        ExitCode::kDataError,
        "the columns of '" + named.path + "' have terms, those of '" + other.path +
            "' do not, so they cannot be matched: give the terms of its columns with --vocab");
  }
  const auto terms = std::make_shared<const StringTable>(
      sorted_union(sources.queries->terms(), sources.items->terms()));
  map_to(terms, "of both", sources.queries);
  map_to(terms, "of both", sources.items);
  return sources;
}

}  // namespace bulksim
