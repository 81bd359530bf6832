#include "fuzz.hpp"
#include "job/plan/plan.hpp"

namespace bulksim::fuzz {
namespace {

const Target kTarget("plan", [](std::string_view bytes) {
  const Plan plan = Plan::from_json(std::string(bytes));
  const TileGrid& grid = plan.grid;
  expect(grid.rows() >= 0 && grid.columns() >= 0 && grid.count() >= 0, "tiles can be counted");
  std::int64_t column = 0;
  for (const RowRange& part : plan.parts) {
    expect(part.begin == column && part.end >= part.begin, "parts follow each other");
    column = part.end;
  }
  expect(column == grid.columns() || plan.parts.empty(), "parts cover all tiles");
});

}  // namespace
}  // namespace bulksim::fuzz
