#include <iostream>
#include <string>

#include "bulksim/core/error.hpp"
#include "bulksim/core/file.hpp"
#include "command.hpp"
#include "job/bench_job.hpp"

namespace bulksim {

CommandSyntax bench_syntax() {
  using enum OptionKind;
  return {.name = "bench",
          .usage = "kernel ITEMS QUERIES",
          .summary =
              "Times the kernel alone: output into buffers that stay in cache, row identity on,\n"
              "item blocks built before the clock starts.",
          .positionals = {"what", "items", "queries"},
          .options = {
              {"what", 0, "", "kernel"},
              {"items", 0, "", "sparse item rows"},
              {"queries", 0, "", "sparse query rows"},
              {"item-limit", 0, "0", "use the first rows only; 0: all"},
              {"query-limit", 0, "0", "use the first rows only; 0: all"},
              {"backend", 0, "cpu", "cpu, or cuda: with baselines in the same run"},
              {"threads", 'j', "1", "threads"},
              {"repeats", 0, "5", "passes; the median is told"},
              {"simd", 0, "best", "best, avx512, avx2, sse4 or scalar"},
              {"block-sums", 0, "off", "on: also with the terms of the block sums"},
              {"softmax-scale", 0, "20", "of the block sums"},
              {"json", 0, "", "JSON instead of text", kFlag},
              {"help", 'h', "", "this text", kFlag},
          }};
}

int run_bench(const std::vector<std::string>& words) {
  const OptionValues options = parse_options(bench_syntax(), words);
  if (printed_help(bench_syntax(), options)) return 0;
  if (options.required("what", "what to time (kernel)") != "kernel") {
    throw Error(ExitCode::kUsage,
                "bench takes the word kernel, not '" + options.text("what") + "'");
  }
  KernelBenchOptions bench;
  bench.items = options.required("items", "the item file ITEMS");
  bench.queries = options.required("queries", "the query file QUERIES");
  bench.item_limit = options.size("item-limit", 0);
  bench.query_limit = options.size("query-limit", 0);
  bench.backend =
      options.choice("backend", {"cpu", "cuda"}) == 0 ? BenchBackend::kCpu : BenchBackend::kCuda;
  bench.threads = static_cast<int>(options.integer("threads", 1, 4096));
  bench.repeats = static_cast<int>(options.integer("repeats", 1, 1000));
  constexpr Simd kTargets[] = {Simd::kBest, Simd::kAvx512, Simd::kAvx2, Simd::kSse4, Simd::kScalar};
  bench.simd = kTargets[options.choice("simd", {"best", "avx512", "avx2", "sse4", "scalar"})];
  if (options.choice("block-sums", {"off", "on"}) == 1) {
    bench.softmax_scale = options.real("softmax-scale", kLeastSoftmaxScale, kMostSoftmaxScale);
  }
  bench.format = options.flag("json") ? BenchFormat::kJson : BenchFormat::kText;
  run_kernel_bench(system_file_calls(), bench, std::cout);
  return 0;
}

}  // namespace bulksim
