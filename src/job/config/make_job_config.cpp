#include "job/config/make_job_config.hpp"

#include <algorithm>
#include <charconv>

#include "bulksim/blocks/softmax_partials.hpp"
#include "bulksim/core/error.hpp"
#include "job/config/import_options.hpp"
#include "storage/result/result_path.hpp"
#include "storage/result/text_format.hpp"

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

/// Which pairs of a row with others are requested.
Partners parse_partners(const OptionValues& options) {
  const bool self_join = !options.has("queries");
  if (!self_join && (options.has("pairs") || options.flag("include-self"))) {
    throw Error(ExitCode::kUsage,
                "--pairs and --include-self apply only to items that are compared with themselves: "
                "omit QUERIES");
  }
  if (!self_join) return Partners::kAll;
  const bool lists = options.has("top-k") || options.has("sample-per-query");
  const bool both = options.has("pairs")
                        ? options.choice<bool>("pairs", {{"upper", false}, {"both", true}})
                        : lists;
  if (options.flag("include-self")) return both ? Partners::kAll : Partners::kNotEarlier;
  return both ? Partners::kOthers : Partners::kLater;
}

void set_selection(const OptionValues& options, JobConfig& config) {
  constexpr std::int64_t kMostStride = 64;
  config.select = parse_selection(options);
  config.stride = options.integer("stride", 1, kMostStride);
  if (!config.select) return;
  if (config.metric == Metric::kDot) {
    throw Error(ExitCode::kUsage,
                "--select-mass and --select-share cannot be combined with --metric dot: tiles are "
                "selected by cosines");
  }
  if (config.filter || config.mode == Mode::kBlocks || config.block_sums == BlockSumsWanted::kOn) {
    throw Error(
        ExitCode::kUsage,
        "--select-mass and --select-share apply only to the full matrix: they cannot be combined "
        "with pairs, nor with block sums, which need every score");
  }
  if (config.zero_rows == ZeroRows::kNan) {
    throw Error(
        ExitCode::kUsage,
        "--zero-rows nan cannot be combined with --select-mass or --select-share: NaN marks "
        "what is not selected");
  }
}

void set_block_sums(const OptionValues& options, JobConfig& config) {
  config.block_sums =
      options.choice<BlockSumsWanted>("block-sums", {{"auto", BlockSumsWanted::kAuto},
                                                     {"on", BlockSumsWanted::kOn},
                                                     {"off", BlockSumsWanted::kOff}});
  config.softmax_scale = options.real("softmax-scale", kLeastSoftmaxScale, kMostSoftmaxScale);
  config.mode = options.choice<Mode>("mode", {{"full", Mode::kFull}, {"blocks", Mode::kBlocks}});
  if (config.mode == Mode::kBlocks && config.filter) {
    throw Error(ExitCode::kUsage,
                "--mode blocks cannot be combined with pairs: omit --threshold, --nonzero, --top-k "
                "and the like");
  }
  const bool asked = config.mode == Mode::kBlocks || config.block_sums == BlockSumsWanted::kOn;
  if (asked && config.metric == Metric::kDot) {
    throw Error(ExitCode::kUsage,
                "block sums are available only for cosines, not for --metric dot");
  }
  if (config.mode == Mode::kBlocks && config.block_sums == BlockSumsWanted::kOff) {
    throw Error(ExitCode::kUsage, "--mode blocks and --block-sums off leave nothing to write");
  }
  if (config.block_sums == BlockSumsWanted::kOn && config.filter) {
    throw Error(
        ExitCode::kUsage,
        "--block-sums on cannot be combined with pairs, which skip most scores: compute the "
        "block sums separately, with --mode blocks");
  }
}

/// A single file holds a matrix or pairs, but no block sums.
void check_output_form(const JobConfig& config) {
  const bool wants_map =
      config.mode == Mode::kBlocks || config.select || config.block_sums == BlockSumsWanted::kOn;
  if (!wants_map || output_form(config.output) == OutputForm::kVersions) return;
  throw Error(ExitCode::kUsage, "block sums and selections are written to a folder, and '" +
                                    config.output + "' is a file: give --output a folder");
}

/// Files that hold pairs cannot hold a matrix.
void check_output_ending(const JobConfig& config) {
  require_known_ending(config.output);
  const auto form = file_form(config.output);
  if (form == FileForm::kNpy) {
    throw Error(ExitCode::kUsage, "'" + config.output +
                                      "' would hold a dense matrix: compute a folder or NAME.h5 "
                                      "and write it with bulksim export");
  }
  if (config.filter || !form || form == FileForm::kHdf5) return;
  throw Error(ExitCode::kUsage, "'" + config.output +
                                    "' can hold only pairs: choose them with --threshold, "
                                    "--nonzero or --top-k, or give a folder or NAME.h5");
}

void set_keeping(const OptionValues& options, JobConfig& config) {
  constexpr double kMostDays = 36'500;
  constexpr double kMostSeconds = 86'400;
  config.overwrite = options.flag("overwrite");
  config.repeat =
      options.flag("recompute") || config.overwrite ? Repeat::kRecompute : Repeat::kReuse;
  config.durability = options.choice<Durability>(
      "durability", {{"on", Durability::kOn}, {"off", Durability::kOff}});
  config.read_back = options.choice<ReadBack>(
      "verify",
      {{"none", ReadBack::kNone}, {"sample", ReadBack::kSample}, {"full", ReadBack::kFull}});
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
    throw Error(ExitCode::kUsage, "--select-mass and --select-share cannot be combined");
  }
  if (options.has("select-mass")) {
    return Selection{SelectBy::kMass, options.real("select-mass", 0, 1)};
  }
  if (options.has("select-share")) {
    return Selection{SelectBy::kShare, options.real("select-share", 0, 1)};
  }
  return std::nullopt;
}

std::optional<PairFilterSpec> parse_filter(const OptionValues& options) {
  constexpr double kMostScore = 3e38;
  constexpr std::int64_t kMostKept = 10'000;
  const bool asked = options.has("threshold") || options.has("below") || options.flag("nonzero") ||
                     options.has("top-k") || options.has("sample-per-query");
  if (!asked) {
    for (const char* name : {"pairs", "include-self", "queries-range", "items-range"}) {
      if (!options.has(name)) continue;
      throw Error(ExitCode::kUsage, "--" + std::string(name) +
                                        " requires --threshold, --below, --nonzero, --top-k or "
                                        "--sample-per-query, which choose pairs");
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
    throw Error(ExitCode::kUsage, "--top-k and --sample-per-query cannot be combined");
  }
  if (options.has("top-k")) {
    filter.keep = Keep::kBest;
    filter.count = options.integer("top-k", 1, kMostKept);
  } else if (options.has("sample-per-query")) {
    filter.keep = Keep::kSample;
    filter.count = options.integer("sample-per-query", 1, kMostKept);
    filter.seed = options.integer("seed", 0);
  }
  return filter;
}

Metric parse_metric(const OptionValues& options) {
  return options.choice<Metric>("metric", {{"cosine", Metric::kCosine}, {"dot", Metric::kDot}});
}

std::string parse_run_tag(const OptionValues& options) {
  std::string tag = options.text("run-tag");
  if (!has_blanks(tag)) return tag;
  throw Error(ExitCode::kUsage, "--run-tag is '" + tag + "' (must be one word without blanks)");
}

JobConfig make_job_config(const OptionValues& options) {
  options.required("items", "the item file ITEMS");
  if (options.has("query-ids") && !options.has("queries")) {
    throw Error(
        ExitCode::kUsage,
        "--query-ids applies only to QUERIES; without them the queries have the ids of the items");
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
  config.zero_rows = options.choice<ZeroRows>(
      "zero-rows",
      {{"zero", ZeroRows::kZero}, {"nan", ZeroRows::kNan}, {"error", ZeroRows::kError}});
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
  config.backend = options.choice<BackendWish>(
      "backend",
      {{"auto", BackendWish::kAuto}, {"cpu", BackendWish::kCpu}, {"cuda", BackendWish::kCuda}});
  config.metric = parse_metric(options);
  config.filter = parse_filter(options);
  config.value_type = options.choice<ValueType>(
      "dtype", {{"float32", ValueType::kFloat32}, {"float16", ValueType::kFloat16}});
  if (config.filter && config.value_type == ValueType::kFloat16) {
    throw Error(ExitCode::kUsage,
                "--dtype float16 applies only to the full matrix; the scores of pairs are float32");
  }
  set_block_sums(options, config);
  set_selection(options, config);
  check_output_form(config);
  check_output_ending(config);
  config.run_tag = parse_run_tag(options);
  config.replace_blanks = options.flag("replace-blanks");
  set_keeping(options, config);
  return config;
}

}  // namespace bulksim
