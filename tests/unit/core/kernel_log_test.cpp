#include "core/run/kernel_log.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

TEST(KernelLog, ReturnsTheLastMessageWithAllWords) {
  const TemporaryFolder folder;
  std::ofstream(folder / "kmsg")
      << "4,1,100,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=7, Ch 00000008\n"
      << "4,2,200,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
      << "4,3,300,-;NVRM: Xid (PCI:0000:86:00): 48, Double Bit ECC Error\n";

  EXPECT_EQ(last_kernel_message({"Xid", "0000:3b:00"}, folder / "kmsg"),
            "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.");
  EXPECT_EQ(last_kernel_message({"Xid", "0000:ff:00"}, folder / "kmsg"), "");
}

TEST(KernelLog, IsEmptyWhereItCannotBeRead) {
  EXPECT_EQ(last_kernel_message({"Xid"}, "/nowhere/kmsg"), "");
}

}  // namespace
}  // namespace bulksim::test
