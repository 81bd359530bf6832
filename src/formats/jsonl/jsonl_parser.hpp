#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bulksim {

/// What is wanted of a line besides the keys of its vector.
enum class JsonlPart {
  kKeys,         ///< nothing
  kWeights,      ///< the weights
  kIdAndWeights  ///< the weights and the name of the row
};

/// The vector of one line. Everything refers to memory of the parser, until its next line.
struct JsonlVector {
  std::string id;
  std::vector<std::string_view> keys;
  std::vector<double> weights;
};

/// Takes a vector from a JSON object.
class JsonlParser {
 public:
  JsonlParser();
  ~JsonlParser();

  /// `line` has `kLinePadding` readable bytes behind it; `place()` says in an Error (65) where it
  /// is from.
  const JsonlVector& parse(std::string_view line, JsonlPart part,
                           const std::function<std::string()>& place);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bulksim
