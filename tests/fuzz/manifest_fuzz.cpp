#include "fuzz.hpp"
#include "storage/run/manifest.hpp"

namespace bulksim::fuzz {
namespace {

const Target kTarget("manifest", [](std::string_view bytes) {
  const Manifest manifest = Manifest::from_json(std::string(bytes));
  for (const ManifestFile& file : manifest.files)
    expect(file.path.find("..") != 0 && file.path.front() != '/', "paths stay inside the folder");
});

}  // namespace
}  // namespace bulksim::fuzz
