#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bulksim/core/error.hpp"
#include "formats/npz/npz.hpp"
#include "job/verify/verification.hpp"
#include "storage/result/archive_comment.hpp"
#include "storage/result/pair_file.hpp"
#include "storage/result/result_path.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kMostFaults = 100;  // that are reported

/// The fault in the pairs of one query, or "".
std::string fault_in(const PairRow& row, PairLayout layout, std::int64_t items, Metric metric) {
  const ScoredItem* before = nullptr;
  bool ended = false;  // only unused places may follow
  for (const ScoredItem& pair : row.pairs) {
    if (layout == PairLayout::kLists && pair.item == -1 && std::isnan(pair.score)) {
      ended = true;
      continue;
    }
    if (ended || pair.item < 0 || pair.item >= items) return "has invalid item numbers";
    if (!(std::fabs(pair.score) <= largest_score(metric))) return "has scores out of range";
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

Metric metric_of(const FileAttributes& attributes) {
  return find_attribute<std::string>(attributes, "metric") == "dot" ? Metric::kDot
                                                                    : Metric::kCosine;
}

std::optional<PairRecomputation> recomputation_of(MatrixShape shape,
                                                  const FileAttributes& attributes,
                                                  const std::string& path,
                                                  const PairReference* reference) {
  if (reference == nullptr) return std::nullopt;
  const auto version = find_attribute<std::int64_t>(attributes, "arithmetic_version");
  if (version) require_arithmetic(path, *version);
  return PairRecomputation(shape, attributes, *reference);
}

/// Compares a file of pairs with its digest, and names the arrays that are damaged.
void verify_digests(FileCalls& calls, const std::string& path, Faults& faults, Verdict& verdict) {
  const FileDigest digest = check_digest(calls, path);
  if (digest == FileDigest::kMatches) return;
  const auto arrays = PairFileReader::open(calls, path)->array_digests();
  if (digest == FileDigest::kNone && arrays.front().expected.empty()) {
    verdict.has_checksum = false;
    return;
  }
  bool named = false;
  for (const auto& [name, expected, found] : arrays) {
    if (expected == found) continue;
    faults.add("'" + name + "' differs from what was published");
    named = true;
  }
  if (!named) faults.add("differs from what was published outside its arrays");
}

void verify_h5(FileCalls& calls, const std::string& path, const PairReference* reference,
               Faults& faults, Verdict& verdict) {
  verify_digests(calls, path, faults, verdict);
  const auto reader = PairFileReader::open(calls, path);
  auto recomputation =
      recomputation_of(reader->shape(), reader->attributes(), verdict.path, reference);
  const Metric metric = metric_of(reader->attributes());
  reader->for_each_row(
      [&](std::int64_t query, std::span<const std::int64_t> items, std::span<const float> scores) {
        PairRow row{query, {}};
        for (std::size_t at = 0; at < items.size(); ++at)
          row.pairs.push_back({items[at], scores[at]});
        faults.add(query, fault_in(row, reader->layout(), reader->shape().items, metric));
        if (recomputation && recomputation->wants(query)) recomputation->note(std::move(row));
      });
  faults.add_wrong_pairs(recomputation, verdict);
}

/// Reads every member of the archive, which checks the checksums.
void verify_npz(FileCalls& calls, const std::string& path, const PairReference* reference,
                Faults& faults, Verdict& verdict) {
  const FileDigest digest = check_digest(calls, path);
  verdict.has_checksum = digest != FileDigest::kNone;
  if (digest == FileDigest::kDiffers) faults.add("differs from what was published");
  const FileAttributes attributes = read_archive_attributes(calls, path);
  const auto rows = open_npz(calls, path);
  auto recomputation = recomputation_of({rows->info().rows, rows->info().columns}, attributes,
                                        verdict.path, reference);
  CsrMatrix row_block;
  for (std::int64_t query = 0; rows->next(row_block); query += row_block.rows()) {
    for (std::int64_t at = 0; at < row_block.rows(); ++at) {
      PairRow row{query + at, {}};
      const CsrView view = row_block.view();
      for (std::size_t k = 0; k < view.columns_of(at).size(); ++k) {
        row.pairs.push_back(
            {std::int64_t{view.columns_of(at)[k]}, static_cast<float>(view.values_of(at)[k])});
      }
      faults.add(row.query, fault_in(row, PairLayout::kCsr, view.columns, metric_of(attributes)));
      if (recomputation && recomputation->wants(row.query)) recomputation->note(std::move(row));
    }
  }
  faults.add_wrong_pairs(recomputation, verdict);
}

}  // namespace

void Faults::add(const std::string& what) {
  if (verdict_.damage.size() < kMostFaults) verdict_.damage.push_back({file_, what});
}

void Faults::add(std::int64_t query, const std::string& what) {
  if (!what.empty()) add("query " + std::to_string(query) + " " + what);
}

void Faults::add_wrong_pairs(std::optional<PairRecomputation>& recomputation, Verdict& verdict) {
  if (!recomputation) return;
  verdict.cells +=
      recomputation->run([&](std::int64_t query, const std::string& what) { add(query, what); });
}

bool is_pair_result(FileCalls& calls, const std::string& path) {
  if (const auto form = file_form(path); form && form != FileForm::kHdf5) return true;
  try {
    return survives_opening(calls, path) && PairFileReader::open(calls, path) != nullptr;
  } catch (const Error&) {
    return false;  // other checks report the fault
  }
}

void verify_pairs(FileCalls& calls, const std::string& path, const PairReference* reference,
                  Verdict& verdict) {
  Faults faults(path, verdict);
  try {
    switch (file_form(path).value_or(FileForm::kHdf5)) {
      case FileForm::kHdf5:
        return verify_h5(calls, path, reference, faults, verdict);
      case FileForm::kNpz:
        return verify_npz(calls, path, reference, faults, verdict);
      case FileForm::kTsv:
      case FileForm::kTrec:
        return verify_text(calls, path, reference, faults, verdict);
      case FileForm::kNpy:
        return verify_npy(calls, path, reference, faults, verdict);
    }
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDataError || reference != nullptr) throw;
    faults.add(error.what());
  }
}

}  // namespace bulksim
