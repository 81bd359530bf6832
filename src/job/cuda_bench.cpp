#include "job/cuda_bench.hpp"

#include <ostream>
#include <string>

#include <nlohmann/json.hpp>

#include "bulksim/core/error.hpp"
#include "core/text/format_text.hpp"

namespace bulksim {

namespace {

constexpr int kBenchSchema = 1;

nlohmann::ordered_json to_json(const CudaContender& contender, double best) {
  nlohmann::ordered_json json{
      {"name", contender.name}, {"queries", contender.queries}, {"items", contender.items}};
  if (!contender.left_out.empty()) {
    json["left_out"] = contender.left_out;
    return json;
  }
  json["seconds"] = contender.seconds;
  json["pairs_per_s"] = contender.pairs_per_s;
  json["largest_error"] = contender.largest_error;
  json["right"] = contender.is_right();
  if (contender.is_right()) json["times_slower"] = best / contender.pairs_per_s;
  return json;
}

nlohmann::ordered_json to_json(const CudaKernelRates& rates) {
  const CudaContender& ours = rates.contenders.front();
  const double pairs = static_cast<double>(ours.queries) * static_cast<double>(ours.items);
  const double per_pair = static_cast<double>(rates.multiply_adds) / pairs;
  nlohmann::ordered_json json{{"schema", kBenchSchema},
                              {"device", rates.device},
                              {"download_bytes_per_s", rates.download_rate},
                              {"pairs", pairs},
                              {"pairs_per_s", ours.pairs_per_s},
                              {"multiply_adds_per_pair", per_pair},
                              {"multiply_adds_per_s", ours.pairs_per_s * per_pair},
                              {"build_seconds", rates.build_seconds},
                              {"failed_identities", rates.failed_identities}};
  json["contenders"] = nlohmann::ordered_json::array();
  for (const CudaContender& contender : rates.contenders)
    json["contenders"].push_back(to_json(contender, ours.pairs_per_s));
  return json;
}

void print_text(const CudaKernelRates& rates, std::ostream& out) {
  const auto line = [&](const char* format, auto... values) {
    out << formatted(format, values...) << '\n';
  };
  const CudaContender& ours = rates.contenders.front();
  const double pairs = static_cast<double>(ours.queries) * static_cast<double>(ours.items);
  line("device                  %s", rates.device.c_str());
  line("copies to the host      %.1f GB/s", rates.download_rate * 1e-9);
  line("useful multiply-adds    %.3f a pair", static_cast<double>(rates.multiply_adds) / pairs);
  line("inverting the items     %.2f ms, not counted below", rates.build_seconds * 1e3);
  for (const CudaContender& contender : rates.contenders) {
    if (!contender.left_out.empty()) {
      line("%-23s left out: %s", contender.name.c_str(), contender.left_out.c_str());
    } else if (!contender.is_right()) {
      line("%-23s WRONG by %.2g", contender.name.c_str(), contender.largest_error);
    } else {
      line("%-23s %9.3g pairs/s, %6.1f times as long; %lld x %lld, error %.1g",
           contender.name.c_str(), contender.pairs_per_s, ours.pairs_per_s / contender.pairs_per_s,
           static_cast<long long>(contender.queries), static_cast<long long>(contender.items),
           contender.largest_error);
    }
  }
}

}  // namespace

void print_cuda_rates(const CudaKernelRates& rates, BenchFormat format, std::ostream& out) {
  if (format == BenchFormat::kJson) {
    out << to_json(rates).dump(2) << '\n';
  } else {
    print_text(rates, out);
  }
  if (rates.failed_identities != 0 || rates.contenders.front().largest_error != 0.0) {
    throw Error(ExitCode::kSoftware, "the score kernel computed something wrong on " +
                                         rates.device + " (do not trust this device)");
  }
}

}  // namespace bulksim
