#include "formats/jsonl/jsonl.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "bulksim/core/types.hpp"
#include "formats/shared/term_table.hpp"
#include "support/npz_support.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::Entries;
using test::entries_of;
using test::error_of;
using test::write_file;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> texts_of(const StringTable& list) {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < list.size(); ++i)
    texts.emplace_back(list[i]);
  return texts;
}

std::string gzip(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

/// Everything read from a stream.
struct Read {
  std::vector<Entries> rows;
  std::vector<std::string> ids;
  std::vector<std::string> terms;
  MatrixInfo info;
};

class JsonlTest : public testing::Test {
 protected:
  Read read_path(const std::string& path, const RowStreamOptions& options = {}) {
    const auto stream = open_jsonl(calls_, path, options);
    Read read;
    for (CsrMatrix rows; stream->next(rows);) {
      for (const Entries& row : entries_of(rows))
        read.rows.push_back(row);
    }
    read.ids = texts_of(stream->ids());
    read.terms = texts_of(stream->terms());
    read.info = stream->info();
    EXPECT_DOUBLE_EQ(stream->progress(), 1.0);
    return read;
  }

  Read read(const std::string& content, const RowStreamOptions& options = {}) {
    write_file(path_, content);
    return read_path(path_, options);
  }

  std::string error_of_reading(const std::string& content, const RowStreamOptions& options = {}) {
    return error_of([&] { read(content, options); });
  }

  FileCalls& calls_ = system_file_calls();
  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "items.jsonl";
};

TEST_F(JsonlTest, ColumnsAreTheTermsSortedByTheirBytes) {
  const Read all = read(
      "{\"id\": \"a\", \"vector\": {\"pear\": 1.5, \"Apple\": 2}}\n"
      "{\"id\": \"b\", \"vector\": {\"22\": 1.26, \"\\u00e9t\\u00e9\": -3e-2, \"apple\": 4}}\n");

  EXPECT_THAT(all.terms, ElementsAre("22", "Apple", "apple", "pear", "\u00e9t\u00e9"));
  EXPECT_THAT(all.rows,
              ElementsAre(Entries{{1, 2.0}, {3, 1.5}}, Entries{{0, 1.26}, {2, 4.0}, {4, -0.03}}));
  EXPECT_THAT(all.ids, ElementsAre("a", "b"));
  EXPECT_EQ(all.info.columns, 5);
  EXPECT_EQ(all.info.rows, 2);
  EXPECT_EQ(all.info.nnz, 5);
  EXPECT_TRUE(all.info.vocabulary);
}

TEST_F(JsonlTest, IdsHaveThreeNamesAndMayBeIntegers) {
  const Read all = read(
      "{\"_id\": \"x\\n1\", \"vector\": {}}\n{\"vector\": {}, \"docid\": 7}\n"
      "{\"id\": -3, \"contents\": \"text {]\", \"vector\": {}}\n"
      "{\"id\": 18446744073709551615, \"vector\": {}}");

  EXPECT_THAT(all.ids, ElementsAre("x\n1", "7", "-3", "18446744073709551615"));
}

TEST_F(JsonlTest, AcceptsUnusualButValidInput) {
  const Read all = read(
      "\xEF\xBB\xBF{\"id\":1,\"vector\":{\"a\":1}}\r\n"
      "\r\n   \n"
      "{\"id\":2,\"vector\":{\"a\":0.5,\"##b\":0,\"a\":0.25,\"qu\\\"ote\":1}}\r\n"
      "{\"id\":3,\"vector\":{}}");

  EXPECT_THAT(all.terms, ElementsAre("##b", "a", "qu\"ote"));
  EXPECT_THAT(all.rows, ElementsAre(Entries{{1, 1.0}},
                                    Entries{{0, 0.0}, {1, 0.5}, {1, 0.25}, {2, 1.0}}, Entries{}));
}

TEST_F(JsonlTest, AFileWithoutVectorsIsRefused) {
  for (const std::string content : {"", "\n \r\n"})
    EXPECT_THAT(error_of_reading(content), AllOf(StartsWith("65: "), HasSubstr(path_)));
}

TEST_F(JsonlTest, TheLargestColumnNumberIsRead) {
  const std::string line = "{\"id\":1,\"vector\":{\"4294967295\":2,\"4294967294\":1}}";

  const Read all = read(line, {.keys = VectorKeys::kIndices});

  EXPECT_THAT(all.rows, ElementsAre(Entries{{4294967294, 1.0}, {4294967295, 2.0}}));
  EXPECT_EQ(all.info.columns, std::int64_t{1} << 32);
}

TEST_F(JsonlTest, MoreEntriesThanFitIntoMemoryAreRefused) {
  const std::string line = "{\"id\":1,\"vector\":{\"a\":2,\"b\":1}}";

  EXPECT_EQ(error_of_reading(line, {.most_entries = 2}), "nothing");
  EXPECT_THAT(error_of_reading(line, {.most_entries = 1}),
              AllOf(StartsWith("71: "), HasSubstr(path_), HasSubstr("2 entries")));
}

TEST_F(JsonlTest, WeightsMayBeIntegersOfAnySize) {
  const Read all =
      read("{\"id\":1,\"vector\":{\"a\":123456789012345678901234567890,\"b\":-0,\"c\":1E2}}");

  EXPECT_EQ(all.rows[0], (Entries{{0, 1.2345678901234568e29}, {1, 0.0}, {2, 100.0}}));
}

TEST_F(JsonlTest, ALineOfTenMegabytesIsRead) {
  std::string line = "{\"id\":1,\"vector\":{\"t\":1";
  for (int i = 0; i < 500'000; ++i)
    line += ",\"term number " + std::to_string(i) + "\":1";

  const Read all = read("{\"id\":0,\"vector\":{\"t\":1}}\n" + line + "}}\n");

  EXPECT_GT(line.size(), 10'000'000u);
  EXPECT_EQ(all.rows[1].size(), 500'001u);
}

TEST_F(JsonlTest, ManyRowsComeInRowBlocks) {
  std::string content;
  for (int row = 0; row < 3000; ++row) {
    content += "{\"id\": " + std::to_string(row) + ", \"vector\": {\"t" +
               std::to_string(row % 700 + 1000) + "\": " + std::to_string(row) + "}}\n";
  }
  write_file(path_, content);
  const auto stream = open_jsonl(calls_, path_, {});
  CsrMatrix rows;

  stream->next(rows);

  EXPECT_EQ(rows.rows(), kRowBlockRows);
  const Read all = read(content);
  EXPECT_EQ(all.rows.size(), 3000u);
  EXPECT_EQ(all.rows[2999], (Entries{{2999 % 700, 2999.0}}));
}

TEST_F(JsonlTest, KeysMayBeNumbersOfColumns) {
  const Read all = read("{\"id\":1,\"vector\":{\"22\":1.5,\"3\":2}}\n{\"id\":2,\"vector\":{}}",
                        {.keys = VectorKeys::kIndices});

  EXPECT_THAT(all.rows, ElementsAre(Entries{{3, 2.0}, {22, 1.5}}, Entries{}));
  EXPECT_EQ(all.info.columns, 23);
  EXPECT_TRUE(all.info.ends_with_last_column);
  EXPECT_FALSE(all.info.vocabulary);
}

TEST_F(JsonlTest, AVocabularyGivesTheColumnsTheirOrder) {
  RowStreamOptions options;
  options.vocabulary.emplace();
  options.vocabulary->add("zebra");
  options.vocabulary->add("ant");
  options.vocabulary_path = "terms.txt";

  EXPECT_THAT(read("{\"id\":1,\"vector\":{\"ant\":1,\"zebra\":2}}", options).rows,
              ElementsAre(Entries{{0, 2.0}, {1, 1.0}}));
  EXPECT_THAT(
      error_of_reading("{\"id\":1,\"vector\":{\"bee\":1}}", options),
      AllOf(StartsWith("65: "), HasSubstr("line 1"), HasSubstr("'bee'"), HasSubstr("terms.txt")));
}

TEST_F(JsonlTest, GzipFilesAndFoldersAreOneMatrix) {
  std::filesystem::create_directory(folder_ / "corpus");
  const std::string second = "{\"id\":2,\"vector\":{\"a\":2}}\n";
  const std::string third = "{\"id\":3,\"vector\":{\"b\":3}}\n";
  write_file(folder_ / "corpus/b.jsonl.gz", gzip(second) + gzip(third));
  write_file(folder_ / "corpus/a.jsonl", "{\"id\":1,\"vector\":{\"c\":1}}");
  write_file(folder_ / "corpus/notes.txt", "no vectors");

  const Read all = read_path(folder_ / "corpus");

  EXPECT_THAT(all.ids, ElementsAre("1", "2", "3"));
  EXPECT_THAT(all.terms, ElementsAre("a", "b", "c"));
  EXPECT_THAT(all.rows, ElementsAre(Entries{{2, 1.0}}, Entries{{0, 2.0}}, Entries{{1, 3.0}}));
}

TEST_F(JsonlTest, ADamagedOrTruncatedGzipFileIsReported) {
  const std::string path = folder_ / "items.jsonl.gz";
  std::string packed = gzip("{\"id\":1,\"vector\":{\"c\":1}}\n");
  for (const std::size_t left : {std::size_t{5}, packed.size() - 9, packed.size() - 1}) {
    write_file(path, packed.substr(0, left));
    EXPECT_THAT(error_of([&] { read_path(path); }), AllOf(StartsWith("65: "), HasSubstr(path)));
  }
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);  // its checksum

  write_file(path, packed);

  EXPECT_THAT(error_of([&] { read_path(path); }), AllOf(StartsWith("65: "), HasSubstr(path)));
}

TEST_F(JsonlTest, ZerosBehindAGzipStreamAreIgnored) {
  const std::string path = folder_ / "items.jsonl.gz";
  const std::string zeros(300'000, '\0');
  const std::string one = gzip("{\"id\":1,\"vector\":{\"c\":1}}\n");
  const std::string two = gzip("{\"id\":2,\"vector\":{\"c\":1}}\n");

  write_file(path, one + zeros + two + zeros);

  EXPECT_THAT(read_path(path).ids, ElementsAre("1", "2"));
  write_file(path, one + zeros + "x");
  EXPECT_THAT(error_of([&] { read_path(path); }), AllOf(StartsWith("65: "), HasSubstr(path)));
}

TEST_F(JsonlTest, ANameThatDoesNotTellTheCompressionIsRefused) {
  const std::string line = "{\"id\":1,\"vector\":{\"c\":1}}\n";
  const std::string path = folder_ / "items.jsonl.gz";

  EXPECT_THAT(error_of_reading(gzip(line)),
              AllOf(StartsWith("65: "), HasSubstr("compressed by gzip"), HasSubstr(".gz")));
  EXPECT_THAT(error_of_reading("\x28\xB5\x2F\xFD" + line), HasSubstr("compressed by zstd"));
  for (const std::string& content : {line, std::string()}) {
    write_file(path, content);
    EXPECT_THAT(error_of([&] { read_path(path); }),
                AllOf(StartsWith("65: "), HasSubstr("not compressed by gzip")));
  }
}

TEST_F(JsonlTest, ALineThatInflatesToMoreThan32MiBIsRefused) {
  const std::string path = folder_ / "items.jsonl.gz";
  const std::string line = "{\"id\":1,\"vector\":{\"c\":1}}\n";
  const std::string blanks(std::size_t{40} << 20, ' ');

  write_file(path, gzip(line + blanks.substr(0, std::size_t{20} << 20) + "\n" + line));
  EXPECT_THAT(error_of([&] { read_path(path); }), HasSubstr("line 3"));  // the same id
  write_file(path, gzip(line + blanks));

  EXPECT_THAT(error_of([&] { read_path(path); }),
              AllOf(StartsWith("65: "), HasSubstr("line 2"), HasSubstr("33554432 bytes")));
}

TEST_F(JsonlTest, FilesOfAFolderAreReadInNaturalOrderWithoutHiddenOnes) {
  std::filesystem::create_directory(folder_ / "parts");
  std::filesystem::create_directory_symlink("parts", folder_ / "link");
  for (const std::string name : {"p10", "p2", "p1", "p02", "q", "._p1", ".hidden"}) {
    write_file(folder_ / ("parts/" + name + ".jsonl"),
               "{\"id\":\"" + name + "\",\"vector\":{\"c\":1}}\n");
  }

  EXPECT_THAT(read_path(folder_ / "parts").ids, ElementsAre("p1", "p02", "p2", "p10", "q"));
  EXPECT_THAT(read_path(folder_ / "link").ids, ElementsAre("p1", "p02", "p2", "p10", "q"));
}

TEST_F(JsonlTest, AFolderWithoutVectorsIsRefused) {
  std::filesystem::create_directory(folder_ / "empty");

  EXPECT_THAT(error_of([&] { read_path(folder_ / "empty"); }), StartsWith("65: "));
}

TEST_F(JsonlTest, EveryBadLineIsReportedWithItsFault) {
  const std::pair<std::string, std::string> cases[] = {
      {"{\"id\":2,\"vector\":{\"a\":1}", "truncated"},
      {"{\"id\":2,\"vector\":{\"a\":1", "truncated"},
      {"{\"id\":2,\"vector\":{\"a\"", ""},
      {"{\"id\":2,\"vec", ""},
      {"{", ""},
      {"[1]", "not a JSON object"},
      {"\"vector\"", "not a JSON object"},
      {"{\"id\":2,\"vector\":{\"a\":1}} {\"id\":3}", "follows"},
      {"{\"id\":2,\"vector\":{\"a\":1}}}", "follows"},
      {"{\"id\":1,\"vector\":{\"a\":1}}", "the id '1' is already the id of row 0"},
      {"{\"id\":\"a\\u0000b\",\"vector\":{\"a\":1}}", "zero byte"},
      {"{\"id\":2,\"vector\":{\"a\":NaN}}", "key 'a'"},
      {"{\"id\":2,\"vector\":{\"a\":Infinity}}", "key 'a'"},
      {"{\"id\":2,\"vector\":{\"a\":-Infinity}}", "key 'a'"},
      {"{\"id\":2,\"vector\":{\"a\":1e400}}", "key 'a'"},
      {"{\"id\":2,\"vector\":{\"a\":\"1.5\"}}", "key 'a'"},
      {"{\"id\":2,\"vector\":{\"a\":null}}", "key 'a'"},
      {"{\"id\":2,\"vector\":{\"a\":[1]}}", "key 'a'"},
      {"{\"id\":2,\"vector\":{\"a\":1.5.2}}", "key 'a'"},
      {"{\"id\":2,\"vector\":{\"a\":}}", ""},
      {"{\"id\":2,\"vector\":{\"a\" 1}}", ""},
      {"{\"id\":2}", "no \"vector\""},
      {"{\"id\":2,\"vector\":null}", "null"},
      {"{\"id\":2,\"vector\":[0.1,0.2]}", "dense"},
      {"{\"id\":2,\"vector\":\"a\"}", "not an object"},
      {"{\"id\":2,\"vector\":{},\"vector\":{}}", "two vectors"},
      {"{\"vector\":{\"a\":1}}", "no id"},
      {"{\"id\":null,\"vector\":{\"a\":1}}", "id"},
      {"{\"id\":1.5,\"vector\":{\"a\":1}}", "id"},
      {"{\"id\":2,\"vector\":{\"\xff\":1}}", "UTF-8"},
      {"{\"id\":\"\xc3\x28\",\"vector\":{\"a\":1}}", "UTF-8"},
  };
  for (const auto& [line, says] : cases) {
    EXPECT_THAT(error_of_reading("{\"id\":1,\"vector\":{\"a\":1}}\n\n" + line),
                AllOf(StartsWith("65: "), HasSubstr("items.jsonl', line 3"), HasSubstr(says)))
        << line;
  }
}

TEST_F(JsonlTest, AKeyThatIsNotANumberIsRefusedWhereColumnsAreRequired) {
  for (const std::string key : {"a", "1x", "-1", "4294967296", "", " 1", "1.0"}) {
    EXPECT_THAT(error_of_reading("{\"id\":1,\"vector\":{\"" + key + "\":1}}",
                                 {.keys = VectorKeys::kIndices}),
                AllOf(StartsWith("65: "), HasSubstr("line 1"), HasSubstr("'" + key + "'")));
  }
}

TEST_F(JsonlTest, IdsAreNotReadWhereTheyComeFromElsewhere) {
  const Read all =
      read("{\"vector\":{\"a\":1}}\n{\"id\":[],\"vector\":{\"a\":1}}", {.ids = RowIds::kIgnore});

  EXPECT_TRUE(all.ids.empty());
  EXPECT_EQ(all.rows.size(), 2u);
}

TEST(TermTable, DistinguishesTextsOfEveryLength) {
  TermTable table;
  std::vector<std::string> texts;
  for (std::size_t size = 0; size <= 40; ++size) {
    for (std::size_t at = 0; at <= size; ++at) {
      std::string text(size, 'a');
      if (at < size) text[at] = '\0';
      texts.push_back(text);
    }
  }

  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(table.insert(texts[i]), static_cast<std::int64_t>(i)) << i;

  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const auto found = table.find_all(views);
  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(found[i], static_cast<std::int64_t>(i)) << i;
}

TEST(TermTable, FindsEveryTextByItsNumber) {
  TermTable table;
  for (int i = 0; i < 50'000; ++i)
    EXPECT_EQ(table.insert("term " + std::to_string(i)), i);

  for (int i = 0; i < 50'000; i += 7) {
    EXPECT_EQ(table.find("term " + std::to_string(i)), i);
    EXPECT_EQ(table.insert("term " + std::to_string(i)), i);
  }
  EXPECT_EQ(table.find("absent"), TermTable::kAbsent);
  EXPECT_EQ(table.find(""), TermTable::kAbsent);
  EXPECT_EQ(table.insert(""), 50'000);
}

}  // namespace
}  // namespace bulksim
