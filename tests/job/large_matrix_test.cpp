#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "bulksim/core/file.hpp"
#include "storage/result/similarity_file.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

TEST(LargeMatrix, TheLastOfMoreThanTwoToThe31CellsIsRight) {
  const TemporaryFolder folder;
  const std::int64_t queries = 65'536;
  const std::int64_t items = 32'769;
  write_csr(folder / "items.csr",
            matrix_of(1, std::vector<Entries>(static_cast<std::size_t>(items), {{0, 1.0}})));
  write_csr(folder / "queries.csr",
            matrix_of(1, std::vector<Entries>(static_cast<std::size_t>(queries), {{0, 1.0}})));
  const std::string command = std::string("'") + BULKSIM_PROGRAM + "' compute -q '" +
                              (folder / "items.csr") + "' '" + (folder / "queries.csr") + "' -o '" +
                              (folder / "result.h5") + "' --max-output 9G >/dev/null";

  ASSERT_EQ(std::system(command.c_str()), 0);

  const auto result = SimilarityReader::open(system_file_calls(), folder / "result.h5");
  EXPECT_EQ(result.grid().shape(), (MatrixShape{queries, items}));
  EXPECT_EQ(result.read({queries - 1, queries}, {items - 1, items}), std::vector<float>{1.0f});
  for (const std::int64_t row : {std::int64_t{0}, std::int64_t{32'768}, queries - 1}) {
    EXPECT_EQ(result.read({row, row + 1}, {0, items}),
              std::vector<float>(static_cast<std::size_t>(items), 1.0f));
  }
}

}  // namespace
}  // namespace bulksim::test
