#include "formats/jsonl/jsonl_parser.hpp"

#include <simdjson.h>

#include "bulksim/core/error.hpp"
#include "formats/shared/line_reader.hpp"

namespace bulksim {

namespace {

namespace json = simdjson::ondemand;

static_assert(kLinePadding >= simdjson::SIMDJSON_PADDING);

/// Parses one line into a JsonlVector.
class LineParser {
 public:
  LineParser(json::parser& parser, JsonlVector& out, JsonlPart part,
             const std::function<std::string()>& place)
      : parser_(parser), out_(out), part_(part), place_(place) {}

  void parse(std::string_view line) {
    json::document document;
    const simdjson::padded_string_view padded(line.data(), line.size(), line.size() + kLinePadding);
    check(parser_.iterate(padded).get(document));
    json::object object;
    check(document.get_object().get(object));
    bool has_vector = false;
    bool has_id = false;
    for (auto result : object) {
      json::field field;
      check(std::move(result).get(field));
      std::string_view key;
      check(field.unescaped_key().get(key));
      if (key == "vector") {
        if (std::exchange(has_vector, true)) fail("it has two vectors");
        read_vector(field.value());
      } else if (part_ == JsonlPart::kIdAndWeights && !has_id &&
                 (key == "id" || key == "_id" || key == "docid")) {
        read_id(field.value());
        has_id = true;
      }
    }
    // a document that was read to its end has no current location
    if (!document.current_location().error()) fail("something follows the object");
    if (!has_vector) fail("it has no \"vector\"");
    if (!has_id && part_ == JsonlPart::kIdAndWeights) {
      fail("it has no id (\"id\", \"_id\" or \"docid\")");
    }
  }

 private:
  void read_vector(json::value value) {
    json::object vector;
    if (value.get_object().get(vector) != simdjson::SUCCESS) refuse_vector(value);
    for (auto result : vector) {
      json::field field;
      check(std::move(result).get(field));
      std::string_view key;
      check(field.unescaped_key().get(key));
      out_.keys.push_back(key);
      if (part_ == JsonlPart::kKeys) continue;
      double weight = 0.0;
      if (field.value().get_double().get(weight) != simdjson::SUCCESS) {
        fail("key '" + std::string(key) + "': the weight is not a finite number");
      }
      out_.weights.push_back(weight);
    }
  }

  [[noreturn]] void refuse_vector(json::value value) {
    json::json_type type = json::json_type::null;
    if (value.type().get(type) == simdjson::SUCCESS) {
      if (type == json::json_type::array) {
        fail("its vector is an array: dense vectors are not supported");
      }
      if (type == json::json_type::null) fail("its vector is null");
    }
    fail("its vector is not an object");
  }

  void read_id(json::value value) {
    std::string_view text;
    std::int64_t number = 0;
    std::uint64_t large = 0;
    if (value.get_string().get(text) == simdjson::SUCCESS) {
      out_.id = text;
    } else if (value.get_int64().get(number) == simdjson::SUCCESS) {
      out_.id = std::to_string(number);
    } else if (value.get_uint64().get(large) == simdjson::SUCCESS) {
      out_.id = std::to_string(large);
    } else {
      fail("its id is neither a string nor an integer");
    }
  }

  void check(simdjson::error_code error) const {
    if (error != simdjson::SUCCESS) refuse_json(error);
  }
  [[noreturn, gnu::cold]] void refuse_json(simdjson::error_code error) const {
    if (error == simdjson::UTF8_ERROR) fail("it is not valid UTF-8");
    fail(std::string("it is not a JSON object, or is truncated (") +
         simdjson::error_message(error) + ")");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ExitCode::kDataError, place_() + ": " + what);
  }

  json::parser& parser_;
  JsonlVector& out_;
  JsonlPart part_;
  const std::function<std::string()>& place_;
};

}  // namespace

struct JsonlParser::State {
  json::parser parser;
  JsonlVector vector;
};

JsonlParser::JsonlParser() : state_(std::make_unique<State>()) {}
JsonlParser::~JsonlParser() = default;

const JsonlVector& JsonlParser::parse(std::string_view line, JsonlPart part,
                                      const std::function<std::string()>& place) {
  JsonlVector& vector = state_->vector;
  vector.id.clear();
  vector.keys.clear();
  vector.weights.clear();
  LineParser(state_->parser, vector, part, place).parse(line);
  return vector;
}

}  // namespace bulksim
