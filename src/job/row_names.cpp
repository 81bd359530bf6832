#include "job/row_names.hpp"

#include <optional>
#include <string>

#include "bulksim/core/error.hpp"
#include "bulksim/job/import_job.hpp"

namespace bulksim {

namespace {

/// The file or matrix that names come from.
const std::string& origin(const std::string& path, const MatrixSource& source) {
  return path.empty() ? source.info().path : path;
}

std::optional<NameFacts> facts_of(FileCalls& calls, const MatrixSource& source,
                                  const std::string& path) {
  const TextList names = ids_of(calls, source, path);
  if (names.empty()) return std::nullopt;
  for (std::int64_t row = 0; row < names.size(); ++row) {
    if (names[row].find('\0') == std::string_view::npos) continue;
    throw Error(ExitCode::kDataError, "'" + origin(path, source) + "', row " + std::to_string(row) +
                                          ": the id holds a zero byte, which no result can keep");
  }
  return NameFacts{names.digest(), name_width(names)};
}

TextList read_again(FileCalls& calls, const MatrixSource& source, const std::string& path,
                    const std::optional<NameFacts>& known) {
  if (!known) return {};
  TextList names = ids_of(calls, source, path);
  if (names.digest() == known->digest) return names;
  throw Error(ExitCode::kTemporary, "the ids in '" + origin(path, source) +
                                        "' have changed since the run began; nothing was "
                                        "published, run the same command again");
}

}  // namespace

void survey_names(const JobConfig& config, const SourcePair& inputs, FileCalls& calls,
                  Surveys& surveys) {
  surveys.items.ids = facts_of(calls, *inputs.items, config.item_ids);
  surveys.queries.ids = config.queries.empty() ? surveys.items.ids
                                               : facts_of(calls, *inputs.queries, config.query_ids);
}

ResultNames read_result_names(const JobConfig& config, const RunSetup& setup, FileCalls& calls) {
  return {read_again(calls, *setup.inputs.queries, config.query_ids_path(), setup.plan.query_ids),
          read_again(calls, *setup.inputs.items, config.item_ids, setup.plan.item_ids)};
}

NameWidths name_widths(const Plan& plan) {
  return {plan.query_ids ? plan.query_ids->width : 0, plan.item_ids ? plan.item_ids->width : 0};
}

}  // namespace bulksim
