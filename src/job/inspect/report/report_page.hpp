#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bulksim {

/// The contents of a report page, in order; texts are HTML.
struct ReportPage {
  std::string title;
  std::string lead;                                        ///< a sentence below the title
  std::vector<std::pair<std::string, std::string>> tiles;  ///< big figures: value, meaning
  struct Section {
    std::string title;
    std::string body;
  };
  std::vector<Section> sections;

  /// The whole page, for light and dark screens and for printing.
  std::string to_html() const;
};

/// A text, escaped for HTML.
std::string escaped(const std::string& text);

}  // namespace bulksim
