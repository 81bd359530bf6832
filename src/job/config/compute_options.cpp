#include "job/config/compute_options.hpp"

#include <algorithm>
#include <charconv>

#include "bulksim/blocks/softmax_partials.hpp"
#include "bulksim/core/error.hpp"
#include "job/config/import_options.hpp"
#include "storage/result/result_path.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kMostThreads = 4096;

TileShape parse_tile(const std::string& text) {
  TileShape tile;
  const auto cross = text.find('x');
  if (cross != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto [queries_end, queries_status] =
        std::from_chars(text.data(), text.data() + cross, tile.queries);
    const auto [items_end, items_status] =
        std::from_chars(text.data() + cross + 1, end, tile.items);
    if (queries_status == std::errc{} && items_status == std::errc{} &&
        queries_end == text.data() + cross && items_end == end && tile.queries > 0 &&
        tile.items > 0) {
      return tile;
    }
  }
  throw Error(ExitCode::kUsage,
              "--tile is '" + text + "' (must be QxI, query rows x item rows, as in 1024x4096)");
}

/// Rows A:B, from 0 and before B.
RowRange parse_rows(const OptionValues& options, const std::string& name) {
  if (!options.has(name)) return {0, kEveryRow};
  const std::string text = options.text(name);
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    const auto begin = parse_size(std::string_view(text).substr(0, colon));
    const auto end = parse_size(std::string_view(text).substr(colon + 1));
    if (begin && end && *begin < *end) return {*begin, *end};
  }
  throw Error(ExitCode::kUsage,
              "--" + name + " is '" + text + "' (must be A:B, from row A and before row B)");
}

/// Which of the pairs of a row with others are wanted.
Partners parse_partners(const OptionValues& options) {
  const bool self_join = !options.has("queries");
  if (!self_join && (options.has("pairs") || options.flag("include-self"))) {
    throw Error(ExitCode::kUsage,
                "--pairs and --include-self are for items that are compared with themselves: "
                "leave QUERIES out");
  }
  if (!self_join) return Partners::kAll;
  const bool lists = options.has("top-k") || options.has("sample-per-query");
  const bool both = options.has("pairs") ? options.choice("pairs", {"upper", "both"}) == 1 : lists;
  if (options.flag("include-self")) return both ? Partners::kAll : Partners::kNotEarlier;
  return both ? Partners::kOthers : Partners::kLater;
}

/// The pairs that the options ask for; nothing when they ask for the full matrix.
std::optional<PairFilterSpec> parse_filter(const OptionValues& options) {
  constexpr double kMostScore = 3e38;
  constexpr std::int64_t kMostKept = 10'000;
  const bool asked = options.has("threshold") || options.has("below") || options.flag("nonzero") ||
                     options.has("top-k") || options.has("sample-per-query");
  if (!asked) {
    for (const char* name : {"pairs", "include-self", "queries-range", "items-range"}) {
      if (!options.has(name)) continue;
      throw Error(ExitCode::kUsage, "--" + std::string(name) +
                                        " is about pairs: say which with --threshold, --nonzero "
                                        "or --top-k");
    }
    return std::nullopt;
  }
  PairFilterSpec filter;
  if (options.has("threshold")) {
    filter.at_least = static_cast<float>(options.real("threshold", -kMostScore, kMostScore));
  }
  if (options.has("below")) {
    filter.below = static_cast<float>(options.real("below", -kMostScore, kMostScore));
  }
  filter.nonzero_only = options.flag("nonzero");
  filter.partners = parse_partners(options);
  filter.queries = parse_rows(options, "queries-range");
  filter.items = parse_rows(options, "items-range");
  if (options.has("top-k") && options.has("sample-per-query")) {
    throw Error(ExitCode::kUsage, "--top-k and --sample-per-query exclude each other");
  }
  if (options.has("top-k")) {
    filter.keep = Keep::kBest;
    filter.count = options.integer("top-k", 1, kMostKept);
  } else if (options.has("sample-per-query")) {
    filter.keep = Keep::kSample;
    filter.count = options.integer("sample-per-query", 1, kMostKept);
    filter.seed = static_cast<std::uint64_t>(options.integer("seed", 0));
  }
  return filter;
}

void set_selection(const OptionValues& options, JobConfig& config) {
  constexpr std::int64_t kMostStride = 64;
  config.select = parse_selection(options);
  config.stride = options.integer("stride", 1, kMostStride);
  if (!config.select) return;
  if (config.metric == Metric::kDot) {
    throw Error(ExitCode::kUsage,
                "tiles are selected by cosines: --metric dot does not go with it");
  }
  if (config.filter || config.mode == Mode::kBlocks || config.block_sums == BlockSumsWanted::kOn) {
    throw Error(
        ExitCode::kUsage,
        "--select-mass and --select-share leave out parts of the full matrix: no pairs, and "
        "no block sums, which need every score");
  }
  if (config.zero_rows == ZeroRows::kNan) {
    throw Error(ExitCode::kUsage,
                "NaN marks what is not selected: --zero-rows nan does not go with it");
  }
}

void set_block_sums(const OptionValues& options, JobConfig& config) {
  constexpr BlockSumsWanted kWanted[] = {BlockSumsWanted::kAuto, BlockSumsWanted::kOn,
                                         BlockSumsWanted::kOff};
  config.block_sums = kWanted[options.choice("block-sums", {"auto", "on", "off"})];
  config.softmax_scale = options.real("softmax-scale", kLeastSoftmaxScale, kMostSoftmaxScale);
  config.mode = options.choice("mode", {"full", "blocks"}) == 1 ? Mode::kBlocks : Mode::kFull;
  if (config.mode == Mode::kBlocks && config.filter) {
    throw Error(ExitCode::kUsage,
                "--mode blocks writes no pairs: leave --threshold, --nonzero, "
                "--top-k and the like out");
  }
  const bool asked = config.mode == Mode::kBlocks || config.block_sums == BlockSumsWanted::kOn;
  if (asked && config.metric == Metric::kDot) {
    throw Error(ExitCode::kUsage, "block sums are for cosines: --metric dot does not go with them");
  }
  if (config.mode == Mode::kBlocks && config.block_sums == BlockSumsWanted::kOff) {
    throw Error(ExitCode::kUsage, "--mode blocks and --block-sums off leave nothing to write");
  }
  if (config.block_sums == BlockSumsWanted::kOn && config.filter) {
    throw Error(ExitCode::kUsage,
                "block sums need every score, and pairs skip most: compute them apart, with --mode "
                "blocks");
  }
}

/// One ordinary file holds a matrix or pairs, and no block sums.
void check_output_form(const JobConfig& config) {
  const bool wants_map =
      config.mode == Mode::kBlocks || config.select || config.block_sums == BlockSumsWanted::kOn;
  if (!wants_map || output_form(config.output) == OutputForm::kVersions) return;
  throw Error(ExitCode::kUsage, "block sums and selections go into a folder, and '" +
                                    config.output + "' is one file: give a folder to --output");
}

/// Files that hold pairs cannot hold a matrix.
void check_output_suffix(const JobConfig& config) {
  if (config.filter || !(config.output.ends_with(".npz") || config.output.ends_with(".tsv")))
    return;
  throw Error(ExitCode::kUsage, "'" + config.output +
                                    "' is for pairs: say which with --threshold, --nonzero or "
                                    "--top-k, or give a folder or NAME.h5");
}

void set_keeping(const OptionValues& options, JobConfig& config) {
  constexpr double kMostDays = 36'500;
  constexpr double kMostSeconds = 86'400;
  config.repeat = options.flag("recompute") ? Repeat::kRecompute : Repeat::kReuse;
  config.durability =
      options.choice("durability", {"on", "off"}) == 0 ? Durability::kOn : Durability::kOff;
  constexpr ReadBack kReadBacks[] = {ReadBack::kNone, ReadBack::kSample, ReadBack::kFull};
  config.read_back = kReadBacks[options.choice("verify", {"none", "sample", "full"})];
  if (options.flag("guard")) config.guard = Guard::kOn;
  if (options.flag("accept-change")) config.guard = Guard::kAccept;
  config.keep = options.integer("keep", 1);
  config.keep_days = options.real("keep-days", 0, kMostDays);
  config.commit.bytes = options.size("commit-bytes", 1);
  config.commit.seconds = options.real("commit-seconds", 0.001, kMostSeconds);
  config.metrics_file = options.text("metrics-file");
}

}  // namespace

std::optional<Selection> parse_selection(const OptionValues& options) {
  if (options.has("select-mass") && options.has("select-share")) {
    throw Error(ExitCode::kUsage, "--select-mass and --select-share exclude each other");
  }
  if (options.has("select-mass")) {
    return Selection{SelectBy::kMass, options.real("select-mass", 0, 1)};
  }
  if (options.has("select-share")) {
    return Selection{SelectBy::kShare, options.real("select-share", 0, 1)};
  }
  return std::nullopt;
}

JobConfig make_job_config(const OptionValues& options) {
  options.required("items", "the item file ITEMS");
  if (options.has("query-ids") && !options.has("queries")) {
    throw Error(
        ExitCode::kUsage,
        "--query-ids needs queries of their own: without them the names of the items count");
  }
  return make_repair_config(options);
}

JobConfig make_repair_config(const OptionValues& options) {
  JobConfig config;
  config.items = options.text("items");
  config.queries = options.text("queries");
  config.output = options.required("output", "the output -o OUT");
  config.vocabulary = options.text("vocab");
  config.item_ids = options.text("item-ids");
  config.query_ids = options.text("query-ids");
  config.keys = parse_keys(options);
  config.irregular = options.flag("strict") ? Irregular::kRefuse : Irregular::kAccept;
  constexpr ZeroRows kPolicies[] = {ZeroRows::kZero, ZeroRows::kNan, ZeroRows::kError};
  config.zero_rows = kPolicies[options.choice("zero-rows", {"zero", "nan", "error"})];
  if (options.flag("strict")) config.zero_rows = ZeroRows::kError;
  config.dimensions = options.flag("pad-dims") ? Dimensions::kPad : Dimensions::kMustAgree;
  if (options.has("tile")) config.tile = parse_tile(options.text("tile"));
  if (options.has("parts")) config.parts = options.integer("parts", 1, kMostParts);
  if (options.has("chunk")) config.chunk_rows = options.size("chunk", 1);
  if (options.has("memory")) config.memory = options.size("memory", 1);
  if (options.has("max-output")) config.max_output = options.size("max-output", 0);
  if (options.has("max-hours")) config.max_hours = options.real("max-hours", 1e-6, 1e6);
  if (options.has("threads")) {
    config.threads = static_cast<int>(options.integer("threads", 1, kMostThreads));
  }
  constexpr BackendWish kWishes[] = {BackendWish::kAuto, BackendWish::kCpu, BackendWish::kCuda};
  config.backend = kWishes[options.choice("backend", {"auto", "cpu", "cuda"})];
  config.metric = options.choice("metric", {"cosine", "dot"}) == 0 ? Metric::kCosine : Metric::kDot;
  config.filter = parse_filter(options);
  if (options.choice("dtype", {"float32", "float16"}) == 1) config.value_type = ValueType::kFloat16;
  if (config.filter && config.value_type == ValueType::kFloat16) {
    throw Error(ExitCode::kUsage, "--dtype float16 is for the full matrix: pairs have float32");
  }
  set_block_sums(options, config);
  set_selection(options, config);
  check_output_form(config);
  check_output_suffix(config);
  set_keeping(options, config);
  return config;
}

}  // namespace bulksim
