#include "storage/hdf5_environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <hdf5.h>

namespace bulksim {
namespace {

TEST(Hdf5Environment, VariablesOfHdf5AreReportedAndRemoved) {
  using Found = std::vector<std::pair<std::string, std::string>>;
  setenv("HDF5_PLUGIN_PATH", "/trap", 1);
  setenv("HDF5_VDS_PREFIX", "/elsewhere=x", 1);
  setenv("NOT_HDF5_PLUGIN_PATH", "kept", 1);

  Found found = shield_hdf5_from_environment();
  const Found again = shield_hdf5_from_environment();

  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (Found{{"HDF5_PLUGIN_PATH", "/trap"}, {"HDF5_VDS_PREFIX", "/elsewhere=x"}}));
  EXPECT_TRUE(again.empty());
  EXPECT_EQ(std::getenv("HDF5_PLUGIN_PATH"), nullptr);
  EXPECT_EQ(std::getenv("HDF5_VDS_PREFIX"), nullptr);
  EXPECT_STREQ(std::getenv("NOT_HDF5_PLUGIN_PATH"), "kept");
}

TEST(Hdf5Environment, NoPluginIsLoaded) {
  unsigned loads = 0;

  shield_hdf5_from_environment();
  H5PLget_loading_state(&loads);

  EXPECT_EQ(loads, 0U);
}

}  // namespace
}  // namespace bulksim
