#include "cli/suggestion.hpp"

#include <algorithm>
#include <numeric>

namespace bulksim {

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // Levenshtein distance, one row of the table at a time
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = row[0]++;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t change = diagonal + (word[i] != candidate[j]);
        diagonal = row[j + 1];
        row[j + 1] = std::min({change, row[j] + 1, diagonal + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string unknown_option(const CommandSyntax& syntax, const std::string& word) {
  std::vector<std::string> names;
  for (const Option& option : syntax.options)
    names.push_back(option.name);
  const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  const auto near = nearest(bare.substr(0, bare.find('=')), names);
  return "unknown option '" + word + "'" +
         (near ? " (did you mean --" + *near + "?)" : "; see bulksim " + syntax.name + " --help");
}

}  // namespace bulksim
