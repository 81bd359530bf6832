#include "job/plan/filter_attributes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace bulksim {

namespace {

constexpr std::array<std::pair<Partners, std::string_view>, 4> kPartners{
    {{Partners::kAll, "all"},
     {Partners::kOthers, "others"},
     {Partners::kLater, "later"},
     {Partners::kNotEarlier, "not_earlier"}}};

std::string text_of(RowRange range) {
  return std::to_string(range.begin) + ":" + std::to_string(range.end);
}

RowRange range_in(const FileAttributes& attributes, std::string_view name) {
  const std::string text = find_attribute<std::string>(attributes, name).value_or("0:");
  const char* end = text.data() + text.size();
  RowRange range{0, kEveryRow};
  const auto [colon, status] = std::from_chars(text.data(), end, range.begin);
  if (status == std::errc{} && colon + 1 < end) std::from_chars(colon + 1, end, range.end);
  return range;
}

}  // namespace

FileAttributes attributes_of(const PairFilterSpec& spec, MatrixShape shape) {
  const PairFilterSpec filter = unfolded(spec);
  FileAttributes attributes;
  // every float32 is exact as a float64
  if (std::isfinite(filter.at_least))
    attributes.emplace_back("threshold", static_cast<double>(filter.at_least));
  if (std::isfinite(filter.below))
    attributes.emplace_back("below", static_cast<double>(filter.below));
  if (filter.nonzero_only) attributes.emplace_back("nonzero", std::int64_t{1});
  if (filter.keep == Keep::kBest) attributes.emplace_back("top_k", filter.count);
  if (filter.keep == Keep::kSample) {
    attributes.emplace_back("sample_per_query", filter.count);
    attributes.emplace_back("seed", static_cast<std::int64_t>(filter.seed));
  }
  const auto is_limited = [](RowRange range, std::int64_t rows) {
    return range.begin > 0 || range.end < rows;
  };
  if (is_limited(filter.queries, shape.queries))
    attributes.emplace_back("queries_range", text_of(filter.queries));
  if (is_limited(filter.items, shape.items))
    attributes.emplace_back("items_range", text_of(filter.items));
  const auto* partners =
      std::ranges::find(kPartners, filter.partners, &decltype(kPartners)::value_type::first);
  attributes.emplace_back("partners", std::string(partners->second));
  return attributes;
}

std::optional<PairFilterSpec> filter_of(const FileAttributes& attributes) {
  const auto name = find_attribute<std::string>(attributes, "partners");
  if (!name) return std::nullopt;
  const auto* partners = std::ranges::find(kPartners, std::string_view(*name),
                                           &decltype(kPartners)::value_type::second);
  if (partners == kPartners.end()) return std::nullopt;
  PairFilterSpec filter{.partners = partners->first};
  const auto number = [&](std::string_view key) { return find_attribute<double>(attributes, key); };
  const auto count = [&](std::string_view key) {
    return find_attribute<std::int64_t>(attributes, key);
  };
  if (number("threshold")) filter.at_least = static_cast<float>(*number("threshold"));
  if (number("below")) filter.below = static_cast<float>(*number("below"));
  filter.nonzero_only = count("nonzero") == 1;
  if (const auto kept = count("top_k")) {
    filter.keep = Keep::kBest;
    filter.count = *kept;
  } else if (const auto drawn = count("sample_per_query")) {
    filter.keep = Keep::kSample;
    filter.count = *drawn;
    filter.seed = static_cast<std::uint64_t>(count("seed").value_or(0));
  }
  filter.queries = range_in(attributes, "queries_range");
  filter.items = range_in(attributes, "items_range");
  return filter;
}

PairFilterSpec unfolded(PairFilterSpec filter) {
  if (!filter.mirrored) return filter;
  filter.mirrored = false;
  filter.partners = filter.partners == Partners::kNotEarlier ? Partners::kAll : Partners::kOthers;
  return filter;
}

}  // namespace bulksim
