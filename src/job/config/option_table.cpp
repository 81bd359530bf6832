#include "job/config/option_table.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "cli/config_file.hpp"

namespace bulksim {

namespace {

using enum OptionKind;

/// An option, and the commands to which it applies.
struct Row {
  const char* name;
  char short_name;
  unsigned commands;
  const char* default_value;
  const char* meaning;
  OptionKind kind = kValue;
};

constexpr unsigned only(ComputeCommand command) {
  return static_cast<unsigned>(command);
}

constexpr unsigned kPlan = only(ComputeCommand::kPlan);
constexpr unsigned kEstimate = only(ComputeCommand::kEstimate);
constexpr unsigned kRepair = only(ComputeCommand::kRepair);
constexpr unsigned kCompute = only(ComputeCommand::kCompute);
constexpr unsigned kNew = kCompute | kPlan;      // a repair takes these from the version
constexpr unsigned kWrite = kCompute | kRepair;  // these matter once there are results
constexpr unsigned kPlanned = kNew | kEstimate;
constexpr unsigned kAll = kPlanned | kRepair;

// clang-format off
constexpr Row kInput[] = {
  {"items", 0, kAll, "", "item rows: .csr, .npz, .jsonl, .jsonl.gz, or an imported store .h5"},
  {"queries", 0, kAll, "", "query rows, in any of these formats; default: the items"},
  {"item-ids", 0, kNew | kRepair, "", "file of item ids, one per line; default: those in the source"},
  {"query-ids", 0, kNew | kRepair, "", "file of query ids, one per line; default: those in the source"},
  {"vocab", 0, kAll, "", "file of the terms of the columns of both sides, one per line"},
  {"keys", 0, kAll, "terms", "keys of JSONL vectors: terms or index (column numbers)"},
  {"zero-rows", 0, kPlanned, "zero", "empty rows: zero (cosine 0 with every row), nan or error"},
  {"strict", 0, kAll, "", "refuse unsorted or empty rows, duplicates and explicit zeros", kFlag},
};

constexpr Row kResult[] = {
  {"output", 'o', kAll, "", "a folder of versions, or one file .h5 (pairs also: .npz, .tsv, .trec; - for tsv to stdout)"},
  {"metric", 0, kNew, "cosine", "cosine or dot (exact where values are integers)"},
  {"dtype", 0, kNew, "float32", "of the full matrix: float32, or float16 (adds an error of at most 2.4e-4)"},
  {"threshold", 't', kNew, "", "only pairs with at least this score"},
  {"below", 0, kNew, "", "only pairs with less than this score"},
  {"nonzero", 0, kNew, "", "only pairs with a score other than 0", kFlag},
  {"top-k", 'k', kNew, "", "number of best items of each query, 1 to 10000"},
  {"sample-per-query", 0, kNew, "", "number of items of each query, drawn at random"},
  {"seed", 0, kNew, "1", "seed of the random sample"},
  {"pairs", 0, kNew, "", "without QUERIES: upper (i < j, each pair once) or both"},
  {"include-self", 0, kNew, "", "without QUERIES: also the pair of each row with itself", kFlag},
  {"queries-range", 0, kNew, "", "only pairs with these rows of the queries, A:B (from A, before B)"},
  {"items-range", 0, kNew, "", "only pairs with these rows of the items, A:B"},
  {"mode", 0, kNew, "full", "full, or blocks: the block sums alone, without the matrix"},
  {"block-sums", 0, kNew, "auto", "softmax mass per block: auto (only with a matrix), on or off"},
  {"softmax-scale", 0, kPlanned, "20", "of the block sums: exp(scale x cosine)"},
  {"select-mass", 0, kPlanned, "", "only the tiles of the fewest blocks that hold this share of all mass"},
  {"select-share", 0, kPlanned, "", "only the tiles of blocks with this share of the mass of their queries"},
};

constexpr Row kSpeed[] = {
  {"backend", 0, kAll, "auto", "auto (GPUs if every rank has one, else the CPU), cpu or cuda"},
  {"threads", 'j', kAll, "", "threads per rank; default: the cores it may use"},
  {"memory", 0, kAll, "", "bytes each rank may use (K, M, G, T); default: 70 % of what is free"},
  {"max-output", 0, kWrite, "", "write at most this many bytes; default: half of the free space"},
  {"max-hours", 0, kWrite, "", "stop in time to end within this many hours, with exit code 75"},
};

constexpr Row kDurability[] = {
  {"recompute", 0, kCompute, "", "make a new version even if the same result is published already", kFlag},
  {"overwrite", 0, kCompute, "", "compute anew and replace the file OUT, even if it is no result of bulksim", kFlag},
  {"durability", 0, kWrite, "on", "on, or off: no syncs, no lease, no journal; a stop loses the run"},
  {"verify", 0, kWrite, "sample", "tiles read back before publishing: none, sample or full"},
  {"guard", 0, kWrite, "", "do not publish a result that differs too much from the previous version", kFlag},
  {"accept-change", 0, kWrite, "", "publish it even if --guard is set", kFlag},
  {"keep", 0, kWrite, "3", "versions to keep; the current one is always kept"},
};

constexpr Row kGeneral[] = {
  {"config", 0, kAll, "", "file of lines 'name = value'; the command line takes precedence"},
  {"print-config", 0, kAll, "", "print the effective options and exit", kFlag},
  {"log-format", 0, kAll, "human", "human, or json (one object per line)"},
  {"quiet", 'q', kAll, "", "warnings and errors only", kFlag},
  {"verbose", 'v', kAll, "", "more detail about plan and phases", kFlag},
  {"help", 'h', kAll, "", "print this text", kFlag},
  {"help-all", 0, kAll, "", "print all options, the rarely needed ones too", kFlag},
};

constexpr Row kRare[] = {
  {"run-tag", 0, kNew, "bulksim", "last field of each line of a .trec"},
  {"replace-blanks", 0, kNew, "", "in a .trec, write _ for the blanks of ids, which are refused otherwise", kFlag},
  {"pad-dims", 0, kPlanned, "", "let queries and items differ in their number of columns", kFlag},
  {"stride", 0, kPlanned, "8", "rows per group in the estimate that selects blocks, 1 to 64"},
  {"tile", 0, kPlanned, "", "tile of the output, QxI: query rows x item rows; part of the plan"},
  {"parts", 0, kNew, "", "number of part files, 1 to 240; part of the plan"},
  {"chunk", 'c', kAll, "", "item rows in flight, rounded up to whole tiles"},
  {"keep-days", 0, kWrite, "7", "days after which unfinished work of other plans is removed"},
  {"commit-bytes", 0, kWrite | kPlan, "1G", "make finished tiles durable after this many bytes per rank"},
  {"commit-seconds", 0, kWrite, "30", "or after this many seconds"},
  {"metrics-file", 0, kWrite, "", "second file for the metrics of the run"},
  {"deadlines", 0, kAll, "init=180,read=300,tile=120,write=300,collective=120",
   "seconds after which a stuck step ends the run, with exit code 69"},
  {"core", 0, kAll, "", "allow core dumps, which contain parts of the embeddings", kFlag},
};
// clang-format on

struct Group {
  OptionGroup group;
  std::span<const Row> rows;
};

constexpr Group kTable[] = {
    {OptionGroup::kInput, kInput},     {OptionGroup::kResult, kResult},
    {OptionGroup::kSpeed, kSpeed},     {OptionGroup::kDurability, kDurability},
    {OptionGroup::kGeneral, kGeneral}, {OptionGroup::kRare, kRare},
};

/// The version decides its plan, and a repair is always a new version.
bool is_refused(std::string_view name, ComputeCommand command) {
  return command == ComputeCommand::kRepair &&
         (name == "tile" || name == "parts" || name == "recompute" || name == "pad-dims");
}

}  // namespace

std::vector<Option> options_of(ComputeCommand command) {
  std::vector<Option> options;
  for (const auto& [group, rows] : kTable) {
    for (const Row& row : rows) {
      if (is_refused(row.name, command)) continue;
      const bool concerns = (row.commands & only(command)) != 0;
      options.push_back({row.name, row.short_name, row.default_value, row.meaning, row.kind,
                         concerns ? group : OptionGroup::kUnrelated});
    }
  }
  return options;
}

std::vector<Option> pair_options() {
  constexpr std::array<std::string_view, 11> kNames{
      "metric", "threshold", "below",        "nonzero",       "top-k",      "sample-per-query",
      "seed",   "pairs",     "include-self", "queries-range", "items-range"};
  std::vector<Option> options;
  for (const Row& row : kResult) {
    if (std::ranges::find(kNames, row.name) == kNames.end()) continue;
    options.push_back(
        {row.name, row.short_name, row.default_value, row.meaning, row.kind, OptionGroup::kResult});
  }
  return options;
}

CommandSyntax compute_syntax() {
  return {.name = "compute",
          .usage = "ITEMS [QUERIES] -o OUT",
          .summary =
              "Computes the cosine similarity of every query with every item. Without QUERIES "
              "every item is compared with every item. Publishes the full matrix, or the pairs "
              "that are asked for, under OUT: a folder of versions, or one ordinary file if OUT "
              "ends in .h5 (pairs also: .npz for scipy.sparse.load_npz, .tsv, .trec). Text formats "
              "leave out items of a --top-k that share no column with the query.",
          .positionals = {"items", "queries"},
          .options = options_of(ComputeCommand::kCompute),
          .examples = {"bulksim compute items.npz -t 0.8 -o pairs.npz",
                       "mpirun -n 8 bulksim compute items.npz queries.npz -o out/ --memory 16G"}};
}

std::vector<ShippedConfig> shipped_configs() {
  const CommandSyntax syntax = compute_syntax();
  return {
      {"compute.cfg",
       config_file_text(
           syntax,
           "# Every option of `bulksim compute` with its default. Use a copy with --config FILE; "
           "the command\n"
           "# line takes precedence. Lines that begin with # have no effect.\n")},
      {"nightly.cfg",
       config_file_text(syntax,
                        "# Options of the nightly job (slurm/nightly.sbatch): those of "
                        "configs/compute.cfg, with "
                        "the guard\n"
                        "# on and a log for machines. The command line takes precedence.\n",
                        {{"guard", "on"}, {"log-format", "json"}})},
  };
}

}  // namespace bulksim
