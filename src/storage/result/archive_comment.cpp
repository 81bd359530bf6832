#include "storage/result/archive_comment.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace bulksim {

namespace {

constexpr std::string_view kStart = "bulksim {";
constexpr std::string_view kEnd = "} XXH3-128 ";
constexpr std::int64_t kDigits = 32;
constexpr std::int64_t kMostBytes = 65535;  // of a zip comment

/// What the comments of older versions began with.
constexpr std::string_view kOldPlan = "bulksim plan ";
constexpr std::string_view kOldExport = "bulksim export";
constexpr std::int64_t kOldBytes = 45;  // at most

std::string last_bytes(const File& file, std::int64_t count) {
  const std::int64_t bytes = std::min(count, file.size());
  std::string tail(bytes, '\0');
  file.read(std::as_writable_bytes(std::span(tail)), file.size() - bytes);
  return tail;
}

bool has_old_comment(const std::string& tail) {
  return tail.ends_with(kOldExport) || (tail.size() >= kOldPlan.size() + kDigits &&
                                        std::string_view(tail)
                                            .substr(tail.size() - kOldPlan.size() - kDigits)
                                            .starts_with(kOldPlan));
}

}  // namespace

JsonObject to_json(const FileAttributes& attributes) {
  JsonObject json;
  for (const auto& [name, value] : attributes)
    std::visit([&, key = name](const auto& held) { json.add(key, held); }, value);
  return json;
}

std::string archive_comment(const FileAttributes& attributes) {
  const std::string text = to_json(attributes).ascii_line();
  return std::string(kStart) + text.substr(1, text.size() - 2) + std::string(kEnd);
}

FileAttributes read_archive_attributes(FileCalls& calls, const std::string& path) {
  const File file = File::open(calls, path, O_RDONLY | O_NOFOLLOW);
  const std::string tail = last_bytes(file, kMostBytes);
  const auto begin = tail.rfind(kStart);
  const auto end = tail.rfind(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  const auto at = begin + kStart.size() - 1;
  const JsonReader json = JsonReader::parse_or_empty(tail.substr(at, end + 1 - at));
  FileAttributes attributes;
  for (const std::string& key : json.keys()) {
    if (const auto text = json.find_text(key)) {
      attributes.emplace_back(key, *text);
    } else if (const auto integer = json.find_integer(key)) {
      attributes.emplace_back(key, *integer);
    } else if (const auto number = json.find_number(key)) {
      attributes.emplace_back(key, *number);
    }
  }
  return attributes;
}

bool is_result_archive(FileCalls& calls, const std::string& path) {
  return !read_archive_attributes(calls, path).empty() ||
         has_old_comment(last_bytes(File::open(calls, path, O_RDONLY | O_NOFOLLOW), kOldBytes));
}

FileDigest check_archive(FileCalls& calls, const std::string& path) {
  const File file = File::open(calls, path, O_RDONLY);
  const std::string tail = last_bytes(file, kDigits);
  const Digest digest = digest_of(file, 0, file.size() - std::ssize(tail));
  if (digest.hex() == tail) return FileDigest::kMatches;
  return has_old_comment(last_bytes(file, kOldBytes)) ? FileDigest::kNone : FileDigest::kDiffers;
}

}  // namespace bulksim
