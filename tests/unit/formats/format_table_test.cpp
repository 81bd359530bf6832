#include "formats/format_table.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "formats/shared/input_files.hpp"
#include "job/config/option_table.hpp"
#include "support/npz_support.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::error_of;
using test::write_file;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class FormatTable : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) const {
    write_file(folder_ / name, content);
    return folder_ / name;
  }

  FileCalls& calls_ = system_file_calls();
  test::TemporaryFolder folder_;
};

TEST_F(FormatTable, EveryFormatHasANameSuffixesAndOneOpenFunction) {
  std::set<std::string_view> names;
  std::set<std::string_view> suffixes;
  for (const InputFormat& format : input_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_FALSE(format.suffixes.empty()) << format.name;
    EXPECT_FALSE(format.description.empty()) << format.name;
    EXPECT_NE(format.open_by_ranges == nullptr, format.open_rows == nullptr) << format.name;
    for (const std::string_view suffix : format.suffixes)
      EXPECT_TRUE(suffixes.insert(suffix).second) << suffix;
  }
}

TEST_F(FormatTable, ASuffixDecidesTheFormat) {
  for (const InputFormat& format : input_formats()) {
    for (const std::string_view suffix : format.suffixes) {
      const std::string path = write("matrix" + std::string(suffix), "");

      EXPECT_EQ(&format_of(calls_, path), &format) << suffix;
    }
  }
}

TEST_F(FormatTable, HelpAndErrorsListEverySuffix) {
  const std::string path = write("matrix.mtx", "1 2 3");
  const std::string error = error_of([&] { format_of(calls_, path); });

  EXPECT_EQ(find_format(calls_, path), nullptr);
  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr(path), Not(HasSubstr("looks like"))));
  for (const InputFormat& format : input_formats()) {
    for (const std::string_view suffix : format.suffixes) {
      EXPECT_THAT(error, HasSubstr(std::string(suffix)));
      EXPECT_THAT(known_suffixes(), HasSubstr(std::string(suffix)));
    }
  }
}

TEST_F(FormatTable, TheHelpOfComputeListsEverySuffix) {
  const auto options = options_of(ComputeCommand::kCompute);
  const auto items = std::find_if(options.begin(), options.end(),
                                  [](const Option& option) { return option.name == "items"; });
  ASSERT_NE(items, options.end());
  for (const InputFormat& format : input_formats()) {
    for (const std::string_view suffix : format.suffixes)
      EXPECT_THAT(items->meaning, HasSubstr(std::string(suffix)));
  }
}

TEST_F(FormatTable, ContentUnderAnotherSuffixIsRecognizedInTheError) {
  for (const InputFormat& format : input_formats()) {
    if (format.magic.empty()) continue;
    const std::string path = write("matrix.dat", std::string(format.magic) + "...");

    EXPECT_THAT(error_of([&] { format_of(calls_, path); }),
                HasSubstr("its content looks like " + std::string(format.suffixes.front())));
  }
}

TEST_F(FormatTable, AFolderHasTheFormatOfItsFiles) {
  std::filesystem::create_directory(folder_ / "parts");
  write("parts/notes.txt", "");
  EXPECT_EQ(find_format(calls_, folder_ / "parts"), nullptr);
  EXPECT_THAT(error_of([&] { format_of(calls_, folder_ / "parts"); }),
              AllOf(StartsWith("65: "), HasSubstr("is a folder"), HasSubstr(".jsonl")));

  write("parts/b.jsonl.gz", "");
  write("parts/a.jsonl", "");

  const InputFormat& format = format_of(calls_, folder_ / "parts");
  EXPECT_EQ(format.name, "jsonl");
  EXPECT_THAT(names_with_suffix(calls_, folder_ / "parts", format.suffixes),
              testing::ElementsAre("a.jsonl", "b.jsonl.gz"));
}

TEST_F(FormatTable, WhatIsNotAFileIsRefusedAtOnce) {
  for (const InputFormat& format : input_formats()) {
    const std::string suffix(format.suffixes.back());
    const std::string pipe = folder_ / ("pipe" + suffix);
    const std::string socket = folder_ / ("socket" + suffix);
    const std::string device = folder_ / ("device" + suffix);
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    ASSERT_EQ(mknod(socket.c_str(), S_IFSOCK | 0600, 0), 0);
    std::filesystem::create_symlink("/dev/null", device);

    for (const auto& [path, kind] : {std::pair(pipe, "a pipe"), std::pair(socket, "a socket"),
                                     std::pair(device, "a device")}) {
      EXPECT_THAT(error_of([&] { open_rows(calls_, path, {}); }),
                  AllOf(StartsWith("66: "), HasSubstr(path), HasSubstr(kind)));
    }
  }
}

TEST_F(FormatTable, ACompressedFileIsNamedForWhatItIs) {
  for (const std::string name : {"matrix.csr", "matrix.h5", "matrix.npz"}) {
    const std::string path = write(name, "\x1F\x8B" + std::string(400, '\1'));

    EXPECT_THAT(error_of([&] { open_rows(calls_, path, {}); }),
                AllOf(StartsWith("65: "), HasSubstr(path), HasSubstr("compressed by gzip")));
  }
}

TEST_F(FormatTable, FormatsNotReadByRangesMustBeImportedFirst) {
  const std::string path = write("matrix.jsonl", "");

  EXPECT_THAT(error_of([&] { open_matrix(calls_, path); }),
              AllOf(StartsWith("65: "), HasSubstr("bulksim import")));
}

}  // namespace
}  // namespace bulksim
