#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bulksim/core/error.hpp"
#include "formats/npz/npz.hpp"
#include "formats/shared/line_reader.hpp"
#include "job/verify/reference_pairs.hpp"
#include "job/verify/verification.hpp"
#include "storage/result/pair_file.hpp"
#include "storage/result/result_path.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kMostFaults = 100;  // that are reported

/// The fault in the pairs of one query, or "".
std::string fault_in(const PairRow& row, PairLayout layout, std::int64_t items) {
  const ScoredItem* before = nullptr;
  bool ended = false;  // only unused places may follow
  for (const ScoredItem& pair : row.pairs) {
    if (layout == PairLayout::kLists && pair.item == -1 && std::isnan(pair.score)) {
      ended = true;
      continue;
    }
    if (ended || pair.item < 0 || pair.item >= items) return "has invalid item numbers";
    if (!std::isfinite(pair.score)) return "has scores that are not finite";
    const bool in_order =
        before == nullptr || (layout == PairLayout::kCsr
                                  ? before->item < pair.item
                                  : before->score > pair.score ||
                                        (before->score == pair.score && before->item < pair.item));
    if (!in_order) return "has its pairs in the wrong order";
    before = &pair;
  }
  return "";
}

/// Collects faults.
class Faults {
 public:
  Faults(const std::string& file, Verdict& verdict) : file_(file), verdict_(verdict) {}

  void add(const std::string& what) {
    if (verdict_.damage.size() < kMostFaults) {
      verdict_.damage.push_back({file_, what});
    }
  }
  void add(std::int64_t query, const std::string& what) {
    if (!what.empty()) add("query " + std::to_string(query) + " " + what);
  }

 private:
  const std::string& file_;
  Verdict& verdict_;
};

void verify_h5(const PairFileReader& reader, std::optional<PairFilterSpec> filter,
               const SourcePair* inputs, Faults& faults, Verdict& verdict) {
  PairRecomputation recomputation(reader, filter);
  if (inputs != nullptr) require_arithmetic(verdict.path, recomputation.arithmetic_version());
  reader.for_each_row(
      [&](std::int64_t query, std::span<const std::int64_t> items, std::span<const float> scores) {
        PairRow row{query, {}};
        for (std::size_t at = 0; at < items.size(); ++at)
          row.pairs.push_back({items[at], scores[at]});
        faults.add(query, fault_in(row, reader.layout(), reader.shape().items));
        if (recomputation.wants(query)) recomputation.note(std::move(row));
      });
  if (inputs == nullptr) return;
  verdict.cells += recomputation.run(
      *inputs, [&](std::int64_t query, const std::string& what) { faults.add(query, what); });
}

/// Reads every member of the archive, which checks the checksums.
void verify_npz(FileCalls& calls, const std::string& path, Faults& faults) {
  const auto rows = open_npz(calls, path);
  CsrMatrix row_block;
  for (std::int64_t query = 0; rows->next(row_block); query += row_block.rows()) {
    for (std::int64_t at = 0; at < row_block.rows(); ++at) {
      PairRow row{query + at, {}};
      const CsrView view = row_block.view();
      for (std::size_t k = 0; k < view.columns_of(at).size(); ++k) {
        row.pairs.push_back(
            {std::int64_t{view.columns_of(at)[k]}, static_cast<float>(view.values_of(at)[k])});
      }
      faults.add(row.query, fault_in(row, PairLayout::kCsr, view.columns));
    }
  }
}

/// The fault in a line of query, item and score separated by tabs, or "".
std::string fault_in_line(std::string_view line) {
  const auto first = line.find('\t');
  const auto last = line.rfind('\t');
  if (first == std::string_view::npos || first == 0 || last <= first + 1 ||
      line.substr(first + 1, last - first - 1).find('\t') != std::string_view::npos) {
    return "does not contain query, item and score";
  }
  const std::string_view score = line.substr(last + 1);
  double value = 0.0;
  const auto [end, status] = std::from_chars(score.data(), score.data() + score.size(), value);
  const bool whole = status == std::errc{} && end == score.data() + score.size();
  return whole && std::isfinite(value) ? "" : "has a score that is not a finite number";
}

void verify_tsv(FileCalls& calls, const std::string& path, Faults& faults) {
  const File file = File::open(calls, path, O_RDONLY);
  char last = 0;
  if (file.size() > 0) file.read(std::as_writable_bytes(std::span(&last, 1)), file.size() - 1);
  if (last != '\n') faults.add("ends in the middle of a line");
  LineReader lines(calls, path);
  const auto header = lines.next();
  if (!header || std::string(*header) + "\n" != kPairTextHeader) {
    faults.add("does not begin with the header line of a result");
  }
  while (const auto line = lines.next()) {
    const std::string fault = fault_in_line(*line);
    if (!fault.empty()) faults.add("line " + std::to_string(lines.number()) + " " + fault);
  }
}

}  // namespace

bool is_pair_result(FileCalls& calls, const std::string& path) {
  const auto form = file_form(path);
  if (form == FileForm::kNpz || form == FileForm::kTsv) return true;
  try {
    return survives_opening(calls, path) && PairFileReader::open(calls, path) != nullptr;
  } catch (const Error&) {
    return false;  // other checks report the fault
  }
}

void verify_pairs(FileCalls& calls, const std::string& path, std::optional<PairFilterSpec> filter,
                  const SourcePair* inputs, Verdict& verdict) {
  Faults faults(path, verdict);
  try {
    if (file_form(path) == FileForm::kHdf5) {
      const auto reader = PairFileReader::open(calls, path);
      verify_h5(*reader, filter, inputs, faults, verdict);
      return;
    }
    if (inputs != nullptr) {
      throw Error(
          ExitCode::kUsage,
          "'" + path +
              "' does not record its inputs: --against applies only to folders and .h5 files");
    }
    if (file_form(path) == FileForm::kNpz) {
      verify_npz(calls, path, faults);
    } else {
      verify_tsv(calls, path, faults);
    }
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDataError || inputs != nullptr) throw;
    faults.add(error.what());
  }
}

}  // namespace bulksim
