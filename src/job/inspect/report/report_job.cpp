#include "job/inspect/report/report_job.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "bulksim/core/error.hpp"
#include "core/text/format_text.hpp"
#include "core/text/json.hpp"
#include "job/inspect/report/heat_map.hpp"
#include "job/inspect/report/report_page.hpp"
#include "job/verify/verification.hpp"
#include "storage/result/block_map.hpp"
#include "storage/result/similarity_file.hpp"

namespace bulksim {

namespace {

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) text += ',';
    text += digits[at];
  }
  return text;
}

std::string rate_text(double value, const std::string& unit) {
  const char* const prefixes[] = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  for (; value >= 999.5 && prefix + 1 < std::size(prefixes); ++prefix)
    value /= 1000;
  return formatted("%.3g", value) + prefixes[prefix] + (prefix == 0 ? " " : "") + unit;
}

/// One side of a run, as its report.json describes it.
struct SideInfo {
  std::string name;
  std::optional<std::string> path;
  std::optional<std::int64_t> rows;
  std::optional<std::int64_t> columns;
  std::optional<std::int64_t> nonzeros;
};

/// The contents of report.json; any of them may be missing.
struct RunInfo {
  SideInfo queries;
  SideInfo items;
  std::optional<std::string> plan;
  std::optional<std::string> backend;
  std::int64_t ranks = 1;
  std::optional<double> compute_seconds;
  std::optional<double> error_bound;
  std::optional<double> pairs_per_s;
  std::optional<double> multiply_adds_per_s;
  std::optional<double> bytes_per_s;
  std::optional<std::int64_t> output_bytes;
  std::optional<std::int64_t> peak_memory;
};

SideInfo side_in(const JsonReader& json, const std::string& side) {
  return {side, json.find_text(side + "/path"), json.find_integer(side + "/rows"),
          json.find_integer(side + "/columns"), json.find_integer(side + "/nonzeros")};
}

RunInfo read_run_info(FileCalls& calls, const std::string& folder) {
  const std::string path = folder + "/report.json";
  const bool there = !folder.empty() && exists(calls, path);
  const JsonReader json = JsonReader::parse_or_empty(there ? read_text(calls, path) : "");
  RunInfo info;
  info.queries = side_in(json, "queries");
  info.items = side_in(json, "items");
  info.plan = json.find_text("plan");
  info.backend = json.find_text("backend");
  info.ranks = json.find_integer("ranks").value_or(1);
  info.compute_seconds = json.find_number("seconds/compute");
  info.error_bound = json.find_number("error_bound");
  info.pairs_per_s = json.find_number("pairs_per_s");
  info.multiply_adds_per_s = json.find_number("useful_multiply_adds_per_s");
  info.bytes_per_s = json.find_number("output_bytes_per_s");
  info.output_bytes = json.find_integer("output_bytes");
  info.peak_memory = json.find_integer("memory/peak");
  return info;
}

void add_tiles(const RunInfo& info, ReportPage& page) {
  for (const SideInfo* side : {&info.queries, &info.items})
    if (side->rows) page.tiles.emplace_back(grouped(*side->rows), side->name);
  if (info.output_bytes) page.tiles.emplace_back(bytes_text(*info.output_bytes), "on disk");
  if (const auto seconds = info.compute_seconds) {
    page.tiles.emplace_back(formatted(*seconds < 10 ? "%.2f s" : "%.0f s", *seconds),
                            "of computing");
  }
  if (info.pairs_per_s) page.tiles.emplace_back(rate_text(*info.pairs_per_s, "/s"), "pairs");
  if (info.error_bound) {
    page.tiles.emplace_back(formatted("%.1e", *info.error_bound), "largest error, proven");
  }
}

/// The remaining contents as a table; empty when there are none.
std::string table_of(const RunInfo& info) {
  std::string rows;
  const auto add = [&](const std::string& name, const std::string& value) {
    rows += "<tr><th>" + name + "</th><td>" + value + "</td></tr>\n";
  };
  for (const SideInfo* side : {&info.queries, &info.items}) {
    if (!side->path || !side->nonzeros || !side->columns) continue;
    add(side->name, "<code>" + escaped(*side->path) + "</code><br>" + grouped(*side->nonzeros) +
                        " nonzeros in " + grouped(*side->columns) + " columns");
  }
  if (info.plan) add("plan", "<code>" + escaped(*info.plan) + "</code>");
  if (info.backend) {
    add("computed on", escaped(*info.backend) + ", " + std::to_string(info.ranks) +
                           (info.ranks == 1 ? " rank" : " ranks"));
  }
  if (info.multiply_adds_per_s) {
    add("useful multiply-adds", rate_text(*info.multiply_adds_per_s, "/s"));
  }
  if (info.bytes_per_s) add("written", rate_text(*info.bytes_per_s, "B/s"));
  if (info.peak_memory) add("memory per rank", bytes_text(*info.peak_memory));
  return rows.empty() ? rows
                      : "<div class=\"scroll\"><table class=\"info\">\n" + rows + "</table></div>";
}

/// The share of all items in a column of `width` fine blocks.
double even_share(const BlockMap& map, std::int64_t items, std::int64_t column,
                  std::int64_t width) {
  const std::int64_t begin = map.items(column * width).begin;
  const std::int64_t end = std::min(map.items((column + 1) * width - 1).end, items);
  return static_cast<double>(std::max<std::int64_t>(end - begin, 1)) / static_cast<double>(items);
}

/// The mass of each block as a multiple of its even share, for blocks of `width` x `width` fine
/// ones.
HeatMap heat_map(const BlockMap& map, std::int64_t items, const std::vector<double>& sums,
                 std::int64_t rows, std::int64_t columns, std::int64_t width) {
  HeatMap heat;
  heat.rows = rows;
  heat.columns = columns;
  heat.query_rows = map.queries(map.rows - 1).end;
  heat.item_rows = map.items(map.columns - 1).end;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t live = 0;
    for (std::int64_t fine = row * width; fine < std::min((row + 1) * width, map.rows); ++fine)
      live += map.live_rows[fine];
    for (std::int64_t column = 0; column < columns; ++column) {
      const double sum = sums[row * columns + column];
      heat.lift.push_back(live == 0 ? 0.0
                                    : sum / static_cast<double>(live) /
                                          even_share(map, items, column, width));
    }
  }
  return heat;
}

std::string range_text(RowRange block, std::int64_t total) {
  return grouped(block.begin) + " – " + grouped(std::min(block.end, total) - 1);
}

std::string strongest_table(const BlockMap& map, const HeatMap& heat, MatrixShape shape,
                            std::int64_t most) {
  const auto order = by_share(map.share);
  std::string rows;
  double first = 0.0;
  for (std::int64_t place = 0; place < std::min(most, std::ssize(order)); ++place) {
    const std::size_t at = order[place];
    const std::int64_t row = order[place] / map.columns;
    const std::int64_t column = order[place] % map.columns;
    if (place == 0) first = map.share[at];
    rows += "<tr><td>" + std::to_string(place + 1) + "</td><td>" +
            range_text(map.queries(row), shape.queries) + "</td><td>" +
            range_text(map.items(column), shape.items) + "</td><td>" +
            formatted("%.3f %%", 100 * map.share[at]) + "</td><td>" +
            formatted("%.3g×", heat.lift[at]) + "</td><td class=\"bar\"><i style=\"width:" +
            formatted("%.1f", first > 0 ? 100 * map.share[at] / first : 0.0) +
            "%\"></i></td></tr>\n";
  }
  return "<div class=\"scroll\"><table>\n<tr><th>#</th><th>query rows</th><th>item rows</th>"
         "<th>of the mass of its queries</th><th>times its even share</th><th></th></tr>\n" +
         rows + "</table></div>";
}

std::string selection_text(const Selection& selection, std::int64_t chosen, std::int64_t blocks) {
  const std::string which =
      selection.by == SelectBy::kMass
          ? formatted("the fewest blocks that hold %.4g %% of all mass", 100 * selection.bound)
          : formatted("blocks with at least %.4g %% of the mass of their queries",
                      100 * selection.bound);
  return "Outlined: " + which + " (" + grouped(chosen) + " of " + grouped(blocks) + ").";
}

void add_block_map(const BlockMap& map, MatrixShape shape, const ReportOptions& options,
                   ReportPage& page) {
  HeatMap fine = heat_map(map, shape.items, map.fine, map.rows, map.columns, 1);
  fine.outlined = select_blocks(map.share, options.outlined);
  const std::int64_t chosen = std::count(fine.outlined.begin(), fine.outlined.end(), 1);
  std::string body = "<p>Each query spreads one unit of mass over all items, by the softmax of " +
                     formatted("%g", map.softmax_scale) +
                     " × cosine. A block shows how much of the mass of its queries falls on its "
                     "items, relative to an even spread (1×).</p>\n<figure>" +
                     draw(fine) + "<figcaption>Fine blocks of " + grouped(map.block().queries) +
                     " queries × " + grouped(map.block().items) + " items. " +
                     selection_text(options.outlined, chosen, std::ssize(map.share)) +
                     "</figcaption></figure>\n";
  if (map.coarse_rows * map.coarse_columns < map.rows * map.columns) {
    body += "<figure>" +
            draw(heat_map(map, shape.items, map.coarse, map.coarse_rows, map.coarse_columns, 4)) +
            "<figcaption>Coarse blocks of 4 × 4 fine ones.</figcaption></figure>\n";
  }
  page.sections.push_back({"Block map", body});
  page.sections.push_back(
      {"Strongest blocks", strongest_table(map, fine, shape, options.strongest)});
}

/// The default path of the page.
std::string default_output(const std::string& folder, const std::string& path) {
  if (!folder.empty()) return folder + "/report.html";
  return path.substr(0, path.size() - std::string(".h5").size()) + ".html";
}

}  // namespace

std::string write_report(FileCalls& calls, const ReportOptions& options) {
  const std::string folder = version_folder(calls, options.path);
  const RunInfo info = read_run_info(calls, folder);
  const auto map = read_block_map(calls, options.path);
  ReportPage page;
  page.title = map ? "Distribution of the softmax mass" : "Result of a run";
  page.lead = "bulksim, exact cosine similarity: <code>" +
              escaped(folder.empty() ? options.path : folder) + "</code>";
  add_tiles(info, page);
  if (map) {
    const MatrixShape shape{info.queries.rows.value_or(map->queries(map->rows - 1).end),
                            info.items.rows.value_or(map->items(map->columns - 1).end)};
    add_block_map(*map, shape, options, page);
  } else {
    page.sections.push_back({"Block map",
                             "<p>This result has no block sums. A full run into a folder has them; "
                             "<code>--mode blocks</code> computes them alone.</p>"});
  }
  const std::string table = table_of(info);
  if (!table.empty()) page.sections.push_back({"The run", table});
  const std::string output =
      options.output.empty() ? default_output(folder, options.path) : options.output;
  replace_file(calls, output, page.to_html());
  return output;
}

}  // namespace bulksim
