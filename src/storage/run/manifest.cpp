#include "storage/run/manifest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string_view>

#include "bulksim/core/error.hpp"
#include "core/run/stop_request.hpp"
#include "core/text/json.hpp"
#include "storage/plain_path.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kMostManifestBytes = std::size_t{16} << 20;
constexpr int kDeepestManifest = 3;

static_assert(std::endian::native == std::endian::little, "tiles.idx is copied byte by byte");

Error not_a_manifest(const std::string& reason) {
  return Error(ExitCode::kDataError, "the manifest is damaged: " + reason);
}

/// Only the reason; `from_json` adds the context.
Error wrong(const std::string& reason) {
  return Error(ExitCode::kDataError, reason);
}

JsonReader parse(const std::string& text) {
  if (text.size() > kMostManifestBytes) throw wrong("it is too long");
  return JsonReader::parse(text, kDeepestManifest);
}

std::int64_t count_in(const JsonReader& json, const char* key) {
  const std::int64_t count = json.integer(key);
  if (count < 0) throw wrong("'" + std::string(key) + "' is negative");
  return count;
}

ManifestFile file_of(const JsonReader& entry) {
  ManifestFile file;
  file.path = entry.text("path");
  file.bytes = count_in(entry, "bytes");
  file.digest_bytes = count_in(entry, "digest_bytes");
  file.digest = Digest::from_hex(entry.text("xxh3_128"));
  if (!is_plain_path(file.path)) throw wrong("'" + file.path + "' is not a plain path");
  if (file.digest_bytes > file.bytes) {
    throw wrong("the digest of '" + file.path + "' covers more than the file");
  }
  return file;
}

}  // namespace

std::string Manifest::to_json() const {
  std::vector<ManifestFile> sorted = files;
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  JsonArray entries;
  for (const ManifestFile& file : sorted) {
    entries.add(JsonObject()
                    .add("bytes", file.bytes)
                    .add("digest_bytes", file.digest_bytes)
                    .add("path", file.path)
                    .add("xxh3_128", file.digest.hex()));
  }
  return JsonObject().add("files", entries).add("format", 1).add("plan", plan).text(1) + "\n";
}

Manifest Manifest::from_json(const std::string& text) {
  try {
    const JsonReader whole = parse(text);
    Manifest manifest;
    manifest.plan = Digest::from_hex(whole.text("plan")).hex();
    for (const JsonReader& entry : whole.objects("files")) {
      manifest.files.push_back(file_of(entry));
      const std::size_t count = manifest.files.size();
      if (count > 1 && manifest.files[count - 2].path >= manifest.files[count - 1].path) {
        throw wrong("'" + manifest.files[count - 1].path + "' is out of order");
      }
    }
    if (manifest.to_json() == text) return manifest;
  } catch (const Error& error) {
    throw not_a_manifest(error.what());
  }
  throw not_a_manifest("it is not in the form that bulksim writes");
}

ManifestFile describe_file(FileCalls& calls, const std::string& root, const std::string& path,
                           std::int64_t digest_bytes) {
  const File file = File::open(calls, root + "/" + path, O_RDONLY | O_NOFOLLOW);
  const std::int64_t bytes = file.size();
  if (digest_bytes == -1) digest_bytes = bytes;
  return {path, bytes, digest_bytes, digest_of(file, 0, digest_bytes)};
}

}  // namespace bulksim
