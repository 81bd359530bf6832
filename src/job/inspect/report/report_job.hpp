#pragma once

#include <cstdint>
#include <string>

#include "blocks/selection.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

struct ReportOptions {
  std::string path;    ///< OUT, a version of it, or a result in one file
  std::string output;  ///< path of the page; empty: report.html in the version, or NAME.html
  Selection outlined{SelectBy::kMass, 0.1};  ///< blocks that get an outline
  std::int64_t strongest = 20;               ///< blocks that are listed
};

/// Writes a self-contained page about a result: the figures of its run, and the block map where
/// there is one. Returns its path. Throws Error (66) when there is no result and Error (65) when it
/// is damaged.
std::string write_report(FileCalls& calls, const ReportOptions& options);

}  // namespace bulksim
