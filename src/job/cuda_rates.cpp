#include "job/cuda_rates.hpp"

#include <ostream>
#include <string>

#include "bulksim/core/error.hpp"
#include "core/text/format_text.hpp"
#include "core/text/json.hpp"

namespace bulksim {

namespace {

constexpr int kBenchSchema = 1;

double pairs_of(const CudaContender& contender) {
  return static_cast<double>(contender.queries) * static_cast<double>(contender.items);
}

JsonObject json_of(const CudaContender& contender, double best) {
  JsonObject json;
  json.add("name", contender.name).add("queries", contender.queries).add("items", contender.items);
  if (!contender.left_out.empty()) {
    json.add("left_out", contender.left_out);
    return json;
  }
  json.add("seconds", contender.seconds)
      .add("pairs_per_s", contender.pairs_per_s)
      .add("largest_error", contender.largest_error)
      .add("right", contender.is_right());
  if (contender.is_right()) json.add("times_slower", best / contender.pairs_per_s);
  return json;
}

std::string to_json(const CudaKernelRates& rates) {
  const CudaContender& ours = rates.contenders.front();
  const double per_pair = static_cast<double>(rates.multiply_adds) / pairs_of(ours);
  JsonArray contenders;
  for (const CudaContender& contender : rates.contenders)
    contenders.add(json_of(contender, ours.pairs_per_s));
  JsonObject json;
  json.add("schema", kBenchSchema)
      .add("device", rates.device)
      .add("download_bytes_per_s", rates.download_rate)
      .add("pairs", pairs_of(ours))
      .add("pairs_per_s", ours.pairs_per_s)
      .add("multiply_adds_per_pair", per_pair)
      .add("multiply_adds_per_s", ours.pairs_per_s * per_pair)
      .add("build_seconds", rates.build_seconds)
      .add("failed_identities", rates.failed_identities)
      .add("contenders", contenders);
  return json.text(2) + "\n";
}

std::string text_of(const CudaContender& contender, double best) {
  const std::string name = formatted("%-23s ", contender.name.c_str());
  if (!contender.left_out.empty()) return name + "left out: " + contender.left_out + "\n";
  if (!contender.is_right()) {
    return name + formatted("WRONG by %.2g\n", contender.largest_error);
  }
  return name + formatted("%9.3g pairs/s, %6.1f times as long; %ld x %ld, error %.1g\n",
                          contender.pairs_per_s, best / contender.pairs_per_s, contender.queries,
                          contender.items, contender.largest_error);
}

std::string to_text(const CudaKernelRates& rates) {
  const CudaContender& ours = rates.contenders.front();
  std::string text = "device                  " + rates.device + "\n";
  text += formatted("copies to the host      %.1f GB/s\n", rates.download_rate * 1e-9);
  text += formatted("useful multiply-adds    %.3f per pair\n",
                    static_cast<double>(rates.multiply_adds) / pairs_of(ours));
  text +=
      formatted("inverting the items     %.2f ms, not counted below\n", rates.build_seconds * 1e3);
  for (const CudaContender& contender : rates.contenders)
    text += text_of(contender, ours.pairs_per_s);
  return text;
}

}  // namespace

void print_cuda_rates(const CudaKernelRates& rates, BenchFormat format, std::ostream& out) {
  out << (format == BenchFormat::kJson ? to_json(rates) : to_text(rates));
  if (rates.failed_identities != 0 || rates.contenders.front().largest_error != 0.0) {
    throw Error(ExitCode::kSoftware, "the score kernel computed wrong results on " + rates.device +
                                         "; do not use this device");
  }
}

}  // namespace bulksim
