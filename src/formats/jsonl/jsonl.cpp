#include "formats/jsonl/jsonl.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bulksim/core/error.hpp"
#include "bulksim/core/types.hpp"
#include "formats/jsonl/jsonl_parser.hpp"
#include "formats/shared/input_files.hpp"
#include "formats/shared/line_reader.hpp"
#include "formats/shared/term_table.hpp"

namespace bulksim {

namespace {

std::vector<std::string> files_of(FileCalls& calls, const std::string& path) {
  if (!leads_to_directory(calls, path)) return {path};
  std::vector<std::string> files = names_with_suffix(calls, path, kJsonlSuffixes);
  if (files.empty()) {
    throw Error(ExitCode::kDataError,
                "the folder '" + path + "' contains no .jsonl or .jsonl.gz file");
  }
  for (std::string& file : files)
    file = path + "/" + file;
  return files;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// The vectors of several files, one file after the other.
class VectorReader {
 public:
  VectorReader(FileCalls& calls, std::vector<std::string> files)
      : calls_(calls), files_(std::move(files)) {
    for (const std::string& file : files_)
      total_ += File::open_input(calls_, file).size();
  }

  /// The next vector; null at the end.
  const JsonlVector* next(JsonlPart part) {
    for (;;) {
      if (!lines_) {
        if (next_file_ == files_.size()) return nullptr;
        lines_ = std::make_unique<LineReader>(calls_, files_[next_file_++]);
      }
      if (const auto line = lines_->next()) {
        if (!is_blank(*line)) return &parser_.parse(*line, part, place_);
      } else {
        used_ += lines_->used();
        lines_.reset();
      }
    }
  }

  /// "'items.jsonl', line 12" of the last vector.
  std::string place() const { return lines_->place(); }
  double progress() const {
    const std::int64_t used = used_ + (lines_ ? lines_->used() : 0);
    return total_ == 0 ? 1.0 : static_cast<double>(used) / static_cast<double>(total_);
  }

 private:
  FileCalls& calls_;
  std::vector<std::string> files_;
  std::size_t next_file_ = 0;
  std::unique_ptr<LineReader> lines_;
  JsonlParser parser_;
  std::function<std::string()> place_ = [this] { return place(); };
  std::int64_t total_ = 0;
  std::int64_t used_ = 0;  // bytes of the files that are finished
};

/// Maps keys to columns.
class KeyColumns {
 public:
  KeyColumns() = default;
  KeyColumns(const KeyColumns&) = delete;
  KeyColumns& operator=(const KeyColumns&) = delete;
  virtual ~KeyColumns() = default;

  /// Appends the columns of the keys of a vector, in their order.
  virtual void append(std::span<const std::string_view> keys, const VectorReader& vectors,
                      std::vector<Column>& out) = 0;
  virtual std::int64_t count() const = 0;
  virtual StringTable terms() const = 0;
};

[[noreturn]] void refuse_key(const VectorReader& vectors, std::string_view key,
                             const std::string& what) {
  throw Error(ExitCode::kDataError, vectors.place() + ", key '" + std::string(key) + "' " + what);
}

/// Keys are decimal column numbers; the largest of them is the last column.
class IndexColumns final : public KeyColumns {
 public:
  void append(std::span<const std::string_view> keys, const VectorReader& vectors,
              std::vector<Column>& out) override {
    for (const std::string_view key : keys) {
      Column column = 0;
      const auto [end, status] = std::from_chars(key.data(), key.data() + key.size(), column);
      if (status != std::errc{} || end != key.data() + key.size()) {
        refuse_key(vectors, key, "is not a column number (0 to 4294967295)");
      }
      count_ = std::max(count_, std::int64_t{column} + 1);
      out.push_back(column);
    }
  }
  std::int64_t count() const override { return count_; }
  StringTable terms() const override { return {}; }

 private:
  std::int64_t count_ = 0;
};

/// Keys are terms of a given list.
class ListedColumns final : public KeyColumns {
 public:
  ListedColumns(const StringTable& terms, std::string path) : path_(std::move(path)) {
    for (std::int64_t column = 0; column < terms.size(); ++column)
      table_.insert(terms[column]);
    BULKSIM_EXPECT(table_.size() == terms.size());
  }

  void append(std::span<const std::string_view> keys, const VectorReader& vectors,
              std::vector<Column>& out) override {
    for (const std::int64_t column : table_.find_all(keys)) {
      if (column == TermTable::kAbsent) {
        refuse_key(vectors, first_absent(keys), "is not a term of the vocabulary '" + path_ + "'");
      }
      out.push_back(static_cast<Column>(column));
    }
  }
  std::int64_t count() const override { return table_.size(); }
  StringTable terms() const override { return table_.texts(); }

 private:
  std::string_view first_absent(std::span<const std::string_view> keys) const {
    return *std::find_if(keys.begin(), keys.end(), [&](std::string_view key) {
      return table_.find(key) == TermTable::kAbsent;
    });
  }

  std::string path_;
  TermTable table_;
};

/// Keys are terms; the columns are those that occur, sorted by their bytes.
class CollectedColumns final : public KeyColumns {
 public:
  CollectedColumns(FileCalls& calls, const std::string& path) {
    VectorReader vectors(calls, files_of(calls, path));
    while (const JsonlVector* vector = vectors.next(JsonlPart::kKeys)) {
      table_.insert_all(vector->keys);
    }
    sorted_ = table_.sorted_numbers();
    columns_.resize(sorted_.size());
    for (std::size_t column = 0; column < sorted_.size(); ++column)
      columns_[sorted_[column]] = static_cast<Column>(column);
  }

  void append(std::span<const std::string_view> keys, const VectorReader& vectors,
              std::vector<Column>& out) override {
    for (const std::int64_t number : table_.find_all(keys)) {
      if (number == TermTable::kAbsent) {
        throw Error(ExitCode::kTemporary,
                    vectors.place() +
                        " has changed while it was being read: it has a new key; run the same "
                        "command again");
      }
      out.push_back(columns_[number]);
    }
  }
  std::int64_t count() const override { return table_.size(); }
  StringTable terms() const override {
    StringTable terms;
    for (const Column number : sorted_)
      terms.add(table_.texts()[number]);
    return terms;
  }

 private:
  TermTable table_;
  std::vector<Column> sorted_;   // numbers in the order of their terms
  std::vector<Column> columns_;  // of each number
};

class JsonlStream final : public RowStream {
 public:
  JsonlStream(FileCalls& calls, const std::string& path, const RowStreamOptions& options,
              std::unique_ptr<KeyColumns> columns)
      : vectors_(calls, files_of(calls, path)),
        columns_(std::move(columns)),
        read_ids_(options.ids),
        most_entries_(options.most_entries) {
    info_.path = path;
    info_.format = "jsonl";
    info_.columns = columns_->count();
    info_.has_ids = read_ids_ == RowIds::kRead;
    terms_ = columns_->terms();
    if (!terms_.empty()) info_.vocabulary = terms_.digest();
    info_.ends_with_last_column = terms_.empty();
  }

  const MatrixInfo& info() const override { return info_; }
  const StringTable& ids() const override { return ids_.texts(); }
  const StringTable& terms() const override { return terms_; }
  double progress() const override { return vectors_.progress(); }

  bool next(CsrMatrix& out) override {
    out.clear();
    const JsonlPart part =
        read_ids_ == RowIds::kRead ? JsonlPart::kIdAndWeights : JsonlPart::kWeights;
    while (out.rows() < kRowBlockRows) {
      const JsonlVector* vector = vectors_.next(part);
      if (vector == nullptr) break;
      if (read_ids_ == RowIds::kRead) add_id(vector->id);
      append(*vector, out);
      expect_to_fit(info_.path, {info_.rows, info_.rows + out.rows()}, out.nnz(), most_entries_);
    }
    info_.rows += out.rows();
    info_.nnz += out.nnz();
    info_.columns = out.columns = columns_->count();
    if (info_.rows == 0) {
      throw Error(ExitCode::kDataError, "'" + info_.path + "' contains no vector");
    }
    return out.rows() > 0;
  }

 private:
  void add_id(const std::string& id) {
    if (id.find('\0') != std::string::npos) {
      throw Error(ExitCode::kDataError, vectors_.place() + ": the id contains a zero byte");
    }
    const std::int64_t row = ids_.size();
    const std::int64_t before = ids_.insert(id);
    if (before == row) return;
    throw Error(ExitCode::kDataError, vectors_.place() + ": the id '" + id +
                                          "' is already the id of row " + std::to_string(before));
  }

  /// A JSON object has no order, so its entries are sorted by column; duplicates keep their order.
  void append(const JsonlVector& vector, CsrMatrix& out) {
    const std::size_t begin = out.values.size();
    columns_->append(vector.keys, vectors_, out.col_indices);
    out.values.insert(out.values.end(), vector.weights.begin(), vector.weights.end());
    out.row_offsets.push_back(std::ssize(out.values));
    const auto columns = std::span(out.col_indices).subspan(begin);
    if (std::is_sorted(columns.begin(), columns.end())) return;
    order_.resize(columns.size());
    for (std::size_t at = 0; at < order_.size(); ++at)
      order_[at] = {columns[at], static_cast<std::uint32_t>(at)};
    std::sort(order_.begin(), order_.end());
    for (std::size_t at = 0; at < order_.size(); ++at) {
      columns[at] = order_[at].first;
      out.values[begin + at] = vector.weights[order_[at].second];
    }
  }

  VectorReader vectors_;
  std::unique_ptr<KeyColumns> columns_;
  RowIds read_ids_;
  std::int64_t most_entries_;
  MatrixInfo info_;
  TermTable ids_;
  StringTable terms_;
  std::vector<std::pair<Column, std::uint32_t>> order_;  // of the entries of one row
};

std::unique_ptr<KeyColumns> make_columns(FileCalls& calls, const std::string& path,
                                         const RowStreamOptions& options) {
  if (options.keys == VectorKeys::kIndices) return std::make_unique<IndexColumns>();
  if (options.vocabulary) {
    return std::make_unique<ListedColumns>(*options.vocabulary, options.vocabulary_path);
  }
  return std::make_unique<CollectedColumns>(calls, path);
}

}  // namespace

std::unique_ptr<RowStream> open_jsonl(FileCalls& calls, const std::string& path,
                                      const RowStreamOptions& options) {
  return std::make_unique<JsonlStream>(calls, path, options, make_columns(calls, path, options));
}

}  // namespace bulksim
