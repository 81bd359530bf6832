#include <iostream>
#include <string>

#include "bulksim/core/error.hpp"
#include "bulksim/core/file.hpp"
#include "cli/standard_options.hpp"
#include "command.hpp"
#include "job/bench_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  return {
      .name = "bench",
      .usage = "kernel ITEMS QUERIES | pairs ITEMS [QUERIES] (-t T | -k K)",
      .summary =
          "Measures the speed of the kernel alone, or of each way of finding pairs. The output of "
          "the kernel goes into buffers that stay in cache, row identity is on, and item blocks "
          "are built before the clock starts. The ways of finding pairs begin with rows in memory.",
      .positionals = {"what", "items", "queries"},
      .options = {{"what", 0, "", "kernel or pairs"},
                  {"items", 0, "", "item rows"},
                  {"queries", 0, "", "query rows"},
                  {"threshold", 't', "", "pairs with a cosine of at least X"},
                  {"top-k", 'k', "", "the X best items of each query"},
                  {"item-limit", 0, "0", "use the first X rows only; 0: all"},
                  {"query-limit", 0, "0", "use the first X rows only; 0: all"},
                  {"backend", 0, "cpu", "cpu, or cuda: with baselines in the same run"},
                  {"threads", 'j', "1", "threads"},
                  {"repeats", 0, "5", "passes, of which the median is printed"},
                  {"simd", 0, "best", "best, avx512, avx2, sse4 or scalar"},
                  {"block-sums", 0, "off", "on: also with the softmax partials of the block sums"},
                  {"softmax-scale", 0, "20", "of the block sums"},
                  json_option(),
                  help_option()},
      .examples = {"bulksim bench kernel titles_items.csr titles_queries.csr --repeats 21",
                   "bulksim bench pairs titles_items.csr -t 0.8"}};
}

int run_pairs(const OptionValues& options) {
  if (options.has("threshold") == options.has("top-k")) {
    throw Error(ExitCode::kUsage, "bench pairs needs either --threshold or --top-k");
  }
  PairBenchOptions bench;
  bench.items = options.required("items", "the item file ITEMS");
  bench.queries = options.text("queries");
  if (options.has("threshold")) {
    bench.threshold = static_cast<float>(options.real("threshold", 0.0, 1.0));
  } else {
    bench.top_k = options.integer("top-k", 1);
  }
  bench.threads = static_cast<int>(options.integer("threads", 1, 4096));
  bench.repeats = static_cast<int>(options.integer("repeats", 1, 1000));
  bench.format = options.format<BenchFormat>();
  run_pair_bench(system_file_calls(), bench, std::cout);
  return 0;
}

int run(const OptionValues& options) {
  const std::string what = options.required("what", "what to measure (kernel or pairs)");
  if (what == "pairs") return run_pairs(options);
  if (what != "kernel") {
    throw Error(ExitCode::kUsage,
                "the first argument of bench must be kernel or pairs, not '" + what + "'");
  }
  KernelBenchOptions bench;
  bench.items = options.required("items", "the item file ITEMS");
  bench.queries = options.required("queries", "the query file QUERIES");
  bench.item_limit = options.size("item-limit", 0);
  bench.query_limit = options.size("query-limit", 0);
  bench.backend = options.choice<BenchBackend>(
      "backend", {{"cpu", BenchBackend::kCpu}, {"cuda", BenchBackend::kCuda}});
  bench.threads = static_cast<int>(options.integer("threads", 1, 4096));
  bench.repeats = static_cast<int>(options.integer("repeats", 1, 1000));
  bench.simd = options.choice<Simd>("simd", {{"best", Simd::kBest},
                                             {"avx512", Simd::kAvx512},
                                             {"avx2", Simd::kAvx2},
                                             {"sse4", Simd::kSse4},
                                             {"scalar", Simd::kScalar}});
  if (options.choice<bool>("block-sums", {{"off", false}, {"on", true}})) {
    bench.softmax_scale = options.real("softmax-scale", kLeastSoftmaxScale, kMostSoftmaxScale);
  }
  bench.format = options.format<BenchFormat>();
  run_kernel_bench(system_file_calls(), bench, std::cout);
  return 0;
}

const Command kCommand(CommandGroup::kTry, syntax, run);

}  // namespace

}  // namespace bulksim
