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
      .usage = "kernel ITEMS QUERIES",
      .summary =
          "Measures the speed of the kernel alone. Output goes into buffers that stay in "
          "cache, row identity is on, and item blocks are built before the clock starts.",
      .positionals = {"what", "items", "queries"},
      .options = {{"what", 0, "", "kernel"},
                  {"items", 0, "", "item rows"},
                  {"queries", 0, "", "query rows"},
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
      .examples = {"bulksim bench kernel titles_items.csr titles_queries.csr --repeats 21"}};
}

int run(const OptionValues& options) {
  if (options.required("what", "what to measure (kernel)") != "kernel") {
    throw Error(ExitCode::kUsage,
                "the first argument of bench must be kernel, not '" + options.text("what") + "'");
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
