#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bulksim {

class JsonArray;

/// A JSON object that is built key by key. Keys keep the order in which they were added; adding a
/// key again replaces its value. Numbers are written with the fewest digits that read back exactly,
/// numbers that are not finite as null, and invalid UTF-8 as U+FFFD.
///
/// The functions are overloads, not templates, so that files that include this header compile fast.
class JsonObject {
 public:
  JsonObject();
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;
  JsonObject(JsonObject&&) noexcept;
  JsonObject& operator=(JsonObject&&) noexcept;
  ~JsonObject();

  JsonObject& add(std::string_view key, std::nullptr_t);
  JsonObject& add(std::string_view key, bool value);
  JsonObject& add(std::string_view key, int value);
  JsonObject& add(std::string_view key, std::int64_t value);
  JsonObject& add(std::string_view key, std::uint64_t value);
  JsonObject& add(std::string_view key, double value);
  JsonObject& add(std::string_view key, const char* value);
  JsonObject& add(std::string_view key, std::string_view value);
  JsonObject& add(std::string_view key, const std::vector<double>& values);
  JsonObject& add(std::string_view key, const std::vector<std::string>& values);
  JsonObject& add(std::string_view key, const JsonObject& value);
  JsonObject& add(std::string_view key, const JsonArray& value);
  /// Adds a JSON object given as text; throws Error (65) when `text` is not a JSON object.
  JsonObject& add_parsed(std::string_view key, const std::string& text);

  bool empty() const;
  /// On several lines, with `indent` spaces per level and without a final newline.
  std::string text(int indent) const;
  /// On one line, with non-ASCII characters escaped.
  std::string ascii_line() const;

 private:
  friend class JsonArray;
  struct Content;
  std::unique_ptr<Content> content_;
};

/// A JSON array that is built value by value.
class JsonArray {
 public:
  JsonArray();
  JsonArray(const JsonArray&) = delete;
  JsonArray& operator=(const JsonArray&) = delete;
  JsonArray(JsonArray&&) noexcept;
  JsonArray& operator=(JsonArray&&) noexcept;
  ~JsonArray();

  JsonArray& add(std::int64_t value);
  JsonArray& add(const JsonObject& value);
  JsonArray& add(const JsonArray& value);

 private:
  friend class JsonObject;
  struct Content;
  std::unique_ptr<Content> content_;
};

/// A parsed JSON object. A key may be a path into objects and arrays: "items/rows" is the value of
/// "rows" in the object "items", "parts/0" the first value of the array "parts".
class JsonReader {
 public:
  /// Throws Error (65) unless `text` is one object with at most `deepest` nested levels below it.
  static JsonReader parse(const std::string& text, int deepest = 64);
  /// The same for a file that may be damaged: returns an empty object instead of throwing.
  static JsonReader parse_or_empty(const std::string& text);

  bool empty() const;
  bool has(const std::string& key) const;
  /// The keys of the object itself.
  std::vector<std::string> keys() const;

  /// These throw Error (65) with the key when it is missing or its value has another type or is out
  /// of range.
  bool boolean(const std::string& key) const;
  std::int64_t integer(const std::string& key) const;
  std::uint64_t unsigned_integer(const std::string& key) const;
  double number(const std::string& key) const;
  std::string text(const std::string& key) const;
  std::vector<JsonReader> objects(const std::string& key) const;
  /// Number of values in an array.
  std::int64_t size(const std::string& key) const;

  /// These return nothing instead of throwing.
  std::optional<bool> find_boolean(const std::string& key) const;
  std::optional<std::int64_t> find_integer(const std::string& key) const;
  std::optional<double> find_number(const std::string& key) const;
  std::optional<std::string> find_text(const std::string& key) const;
  /// The strings of an array.
  std::optional<std::vector<std::string>> find_texts(const std::string& key) const;

 private:
  explicit JsonReader(std::shared_ptr<const void> node) : node_(std::move(node)) {}

  std::shared_ptr<const void> node_;  ///< shares ownership of the document
};

}  // namespace bulksim
