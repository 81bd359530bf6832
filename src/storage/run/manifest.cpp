#include "storage/run/manifest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string_view>

#include <nlohmann/json.hpp>

#include "bulksim/core/error.hpp"
#include "storage/plain_path.hpp"

namespace bulksim {

namespace {

using nlohmann::json;

constexpr std::size_t kMostManifestBytes = std::size_t{16} << 20;
constexpr int kDeepestManifest = 3;

static_assert(std::endian::native == std::endian::little, "tiles.idx is copied as it is");

Error not_a_manifest(const std::string& reason) {
  return Error(ExitCode::kDataError, "the manifest is damaged: " + reason);
}

json parse(const std::string& text) {
  if (text.size() > kMostManifestBytes) throw not_a_manifest("it is too long");
  const auto shallow = [](int depth, json::parse_event_t, json&) {
    if (depth > kDeepestManifest) throw not_a_manifest("it is nested too deeply");
    return true;
  };
  json parsed = json::parse(text, shallow, /*allow_exceptions=*/false);
  if (!parsed.is_object()) throw not_a_manifest("it is no JSON object");
  return parsed;
}

const json& member(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) {
    throw not_a_manifest("'" + std::string(key) + "' is missing");
  }
  return object[key];
}

std::string text_member(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_string()) throw not_a_manifest("'" + std::string(key) + "' is no text");
  return value.get<std::string>();
}

std::int64_t number_member(const json& object, const char* key) {
  const json& value = member(object, key);
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
    throw not_a_manifest("'" + std::string(key) + "' is no count");
  }
  return value.get<std::int64_t>();
}

ManifestFile file_of(const json& entry) {
  ManifestFile file;
  file.path = text_member(entry, "path");
  file.bytes = number_member(entry, "bytes");
  file.digest_bytes = number_member(entry, "digest_bytes");
  file.digest = Digest::from_hex(text_member(entry, "xxh3_128"));
  if (!is_plain_path(file.path)) throw not_a_manifest("'" + file.path + "' is no plain path");
  if (file.digest_bytes > file.bytes) {
    throw not_a_manifest("the digest of '" + file.path + "' covers more than the file");
  }
  return file;
}

}  // namespace

std::string Manifest::to_json() const {
  std::vector<ManifestFile> sorted = files;
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  json entries = json::array();
  for (const ManifestFile& file : sorted) {
    entries.push_back({{"path", file.path},
                       {"bytes", file.bytes},
                       {"digest_bytes", file.digest_bytes},
                       {"xxh3_128", file.digest.hex()}});
  }
  const json whole{{"format", 1}, {"plan", plan}, {"files", std::move(entries)}};
  return whole.dump(1) + "\n";
}

Manifest Manifest::from_json(const std::string& text) {
  const json whole = parse(text);
  Manifest manifest;
  manifest.plan = Digest::from_hex(text_member(whole, "plan")).hex();
  const json& entries = member(whole, "files");
  if (!entries.is_array()) throw not_a_manifest("'files' is no list");
  for (const json& entry : entries) {
    manifest.files.push_back(file_of(entry));
    const std::size_t count = manifest.files.size();
    if (count > 1 && manifest.files[count - 2].path >= manifest.files[count - 1].path) {
      throw not_a_manifest("'" + manifest.files[count - 1].path + "' is not in order");
    }
  }
  if (manifest.to_json() != text) throw not_a_manifest("it is not written as bulksim writes it");
  return manifest;
}

ManifestFile describe_file(FileCalls& calls, const std::string& root, const std::string& path,
                           std::int64_t digest_bytes) {
  const File file = File::open(calls, root + "/" + path, O_RDONLY | O_NOFOLLOW);
  const std::int64_t bytes = file.size();
  if (digest_bytes == -1) digest_bytes = bytes;
  Hasher hasher;
  std::vector<std::byte> block(
      static_cast<std::size_t>(std::min(digest_bytes, std::int64_t{1} << 20)));
  for (std::int64_t at = 0; at < digest_bytes;) {
    const auto count = std::min(digest_bytes - at, std::ssize(block));
    const auto some = std::span(block).first(static_cast<std::size_t>(count));
    file.read(some, at);
    hasher.update(some);
    at += count;
  }
  return {path, bytes, digest_bytes, hasher.digest()};
}

}  // namespace bulksim
