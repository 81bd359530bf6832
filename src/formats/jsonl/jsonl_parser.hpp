#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bulksim {

/// What is read from a line in addition to the keys of its vector.
enum class JsonlPart {
  kKeys,         ///< nothing
  kWeights,      ///< the weights
  kIdAndWeights  ///< the weights and the id of the row
};

/// The vector of one line. It refers to memory of the parser, valid until its next line.
struct JsonlVector {
  std::string id;
  std::vector<std::string_view> keys;
  std::vector<double> weights;
};

/// Reads the vector of a JSON object.
class JsonlParser {
 public:
  JsonlParser();
  ~JsonlParser();

  /// `line` is followed by `kLinePadding` readable bytes; `place()` is its location for an
  /// Error (65).
  const JsonlVector& parse(std::string_view line, JsonlPart part,
                           const std::function<std::string()>& place);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bulksim
