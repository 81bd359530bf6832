#include "core/text/json.hpp"

#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "bulksim/core/error.hpp"

namespace bulksim {

/// Also used for reading, so that the templates are instantiated only once.
using Json = nlohmann::ordered_json;

struct JsonObject::Content {
  Json json = Json::object();
};

struct JsonArray::Content {
  Json json = Json::array();
};

JsonObject::JsonObject() : content_(std::make_unique<Content>()) {}
JsonObject::JsonObject(JsonObject&&) noexcept = default;
JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;
JsonObject::~JsonObject() = default;

namespace {

/// All values are added here, so that each type of value instantiates nlohmann's templates once.
void put(Json& object, std::string_view key, Json value) {
  object[std::string(key)] = std::move(value);
}

}  // namespace

JsonObject& JsonObject::add(std::string_view key, std::nullptr_t) {
  put(content_->json, key, nullptr);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, bool value) {
  put(content_->json, key, value);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, int value) {
  put(content_->json, key, std::int64_t{value});
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, std::int64_t value) {
  put(content_->json, key, value);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, std::uint64_t value) {
  put(content_->json, key, value);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, double value) {
  put(content_->json, key, value);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const char* value) {
  return add(key, std::string_view(value));
}

JsonObject& JsonObject::add(std::string_view key, std::string_view value) {
  put(content_->json, key, std::string(value));
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const std::vector<double>& values) {
  put(content_->json, key, values);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const std::vector<std::string>& values) {
  put(content_->json, key, values);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const JsonObject& value) {
  put(content_->json, key, value.content_->json);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const JsonArray& value) {
  put(content_->json, key, value.content_->json);
  return *this;
}

JsonObject& JsonObject::add_parsed(std::string_view key, const std::string& text) {
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) throw Error(ExitCode::kDataError, "it is not a JSON object");
  put(content_->json, key, std::move(value));
  return *this;
}

bool JsonObject::empty() const {
  return content_->json.empty();
}

std::string JsonObject::text(int indent) const {
  return content_->json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string JsonObject::ascii_line() const {
  return content_->json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

JsonArray::JsonArray() : content_(std::make_unique<Content>()) {}
JsonArray::JsonArray(JsonArray&&) noexcept = default;
JsonArray& JsonArray::operator=(JsonArray&&) noexcept = default;
JsonArray::~JsonArray() = default;

JsonArray& JsonArray::add(std::int64_t value) {
  content_->json.push_back(value);
  return *this;
}

JsonArray& JsonArray::add(const JsonObject& value) {
  content_->json.push_back(value.content_->json);
  return *this;
}

JsonArray& JsonArray::add(const JsonArray& value) {
  content_->json.push_back(value.content_->json);
  return *this;
}

namespace {

/// The value of a key, or null.
const Json* find(const std::shared_ptr<const void>& node, const std::string& key) {
  const auto& json = *static_cast<const Json*>(node.get());
  const Json::json_pointer place("/" + key);
  return json.contains(place) ? &json.at(place) : nullptr;
}

Error no_value(const JsonReader& reader, const std::string& key, const std::string& type) {
  return Error(ExitCode::kDataError,
               "'" + key + "' is " + (reader.has(key) ? "not " + type : "missing"));
}

template <class T>
T value_or_throw(const std::optional<T>& value, const JsonReader& reader, const std::string& key,
                 const char* type) {
  if (!value) throw no_value(reader, key, type);
  return *value;
}

}  // namespace

JsonReader JsonReader::parse(const std::string& text, int deepest) {
  const auto shallow = [deepest](int depth, Json::parse_event_t, Json&) {
    if (depth > deepest) throw Error(ExitCode::kDataError, "it is nested too deeply");
    return true;
  };
  auto json = std::make_shared<Json>(Json::parse(text, shallow, /*allow_exceptions=*/false));
  if (!json->is_object()) throw Error(ExitCode::kDataError, "it is not a JSON object");
  return JsonReader(std::move(json));
}

JsonReader JsonReader::parse_or_empty(const std::string& text) {
  try {
    return parse(text);
  } catch (const Error&) {
    return JsonReader(std::make_shared<Json>(Json::object()));
  }
}

bool JsonReader::empty() const {
  return static_cast<const Json*>(node_.get())->empty();
}

bool JsonReader::has(const std::string& key) const {
  return find(node_, key) != nullptr;
}

std::vector<std::string> JsonReader::keys() const {
  std::vector<std::string> keys;
  for (const auto& entry : static_cast<const Json*>(node_.get())->items())
    keys.push_back(entry.key());
  return keys;
}

bool JsonReader::boolean(const std::string& key) const {
  return value_or_throw(find_boolean(key), *this, key, "true or false");
}

std::int64_t JsonReader::integer(const std::string& key) const {
  return value_or_throw(find_integer(key), *this, key, "an integer");
}

std::uint64_t JsonReader::unsigned_integer(const std::string& key) const {
  const Json* json = find(node_, key);
  if (json == nullptr || !json->is_number_unsigned()) {
    throw no_value(*this, key, "an integer of 0 or more");
  }
  return json->get<std::uint64_t>();
}

double JsonReader::number(const std::string& key) const {
  return value_or_throw(find_number(key), *this, key, "a number");
}

std::string JsonReader::text(const std::string& key) const {
  return value_or_throw(find_text(key), *this, key, "a string");
}

std::vector<JsonReader> JsonReader::objects(const std::string& key) const {
  const Json* json = find(node_, key);
  if (json == nullptr || !json->is_array()) throw no_value(*this, key, "an array of objects");
  std::vector<JsonReader> found;
  for (const Json& value : *json) {
    if (!value.is_object()) throw no_value(*this, key, "an array of objects");
    found.push_back(JsonReader(std::shared_ptr<const void>(node_, &value)));
  }
  return found;
}

std::int64_t JsonReader::size(const std::string& key) const {
  const Json* json = find(node_, key);
  if (json == nullptr || !json->is_array()) throw no_value(*this, key, "an array");
  return json->size();
}

std::optional<bool> JsonReader::find_boolean(const std::string& key) const {
  const Json* json = find(node_, key);
  if (json == nullptr || !json->is_boolean()) return std::nullopt;
  return json->get<bool>();
}

std::optional<std::int64_t> JsonReader::find_integer(const std::string& key) const {
  const Json* json = find(node_, key);
  if (json == nullptr || !json->is_number_integer()) return std::nullopt;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (json->is_number_unsigned() && json->get<std::uint64_t>() > kMost) return std::nullopt;
  return json->get<std::int64_t>();
}

std::optional<double> JsonReader::find_number(const std::string& key) const {
  const Json* json = find(node_, key);
  if (json == nullptr || !json->is_number()) return std::nullopt;
  return json->get<double>();
}

std::optional<std::string> JsonReader::find_text(const std::string& key) const {
  const Json* json = find(node_, key);
  if (json == nullptr || !json->is_string()) return std::nullopt;
  return json->get<std::string>();
}

std::optional<std::vector<std::string>> JsonReader::find_texts(const std::string& key) const {
  const Json* json = find(node_, key);
  if (json == nullptr || !json->is_array()) return std::nullopt;
  std::vector<std::string> found;
  for (const Json& value : *json) {
    if (!value.is_string()) return std::nullopt;
    found.push_back(value.get<std::string>());
  }
  return found;
}

}  // namespace bulksim
