#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bulksim/core/types.hpp"
#include "comm/communicator.hpp"
#include "formats/shared/column_map.hpp"
#include "formats/shared/text_lines.hpp"
#include "job/input/import_matrix.hpp"
#include "job/input/open_input.hpp"
#include "job/input/survey.hpp"
#include "support/jsonl_support.hpp"
#include "support/npz_support.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::Entries;
using test::entries_of;
using test::error_of;
using test::jsonl_of;
using test::matrix_of;
using test::npz_of;
using test::numbered_lines;
using test::random_rows;
using test::write_csr;
using test::write_file;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class ImportJobTest : public testing::Test {
 protected:
  ImportReport import(const std::string& source, const ImportOptions& options = {}) {
    return import_matrix(calls_, folder_ / source, folder_ / "store.h5", options, log_);
  }
  std::unique_ptr<MatrixSource> imported(const std::string& source,
                                         const ImportOptions& options = {}) {
    import(source, options);
    return open_matrix(calls_, folder_ / "store.h5");
  }
  std::string error_of_import(const std::string& source, const ImportOptions& options = {}) {
    return error_of([&] { import(source, options); });
  }
  std::vector<Entries> all_rows(const MatrixSource& source) {
    CsrMatrix rows;
    source.read({0, source.info().rows}, rows);
    return entries_of(rows);
  }
  /// XXH3-128 of the content as a run surveys it.
  Digest content_of(const MatrixSource& source) {
    const auto comm = make_self_communicator();
    return survey_inputs(source, source, Irregular::kAccept, *comm).items.content();
  }

  FileCalls& calls_ = system_file_calls();
  Log log_{{.level = LogLevel::kError}};
  test::TemporaryFolder folder_;
};

TEST_F(ImportJobTest, EveryFormatOfTheSameValuesHasTheSameContent) {
  const CsrMatrix matrix = random_rows(2100, 900, 12, 1);
  write_csr(folder_ / "m.csr", matrix);
  write_file(folder_ / "float.npz", npz_of(matrix));
  write_file(folder_ / "double.npz", npz_of(matrix, {.values = ">f8", .zip = {8, true, false}}));
  write_file(folder_ / "index.jsonl", jsonl_of(matrix, {.digits = 1}));
  write_file(folder_ / "term.jsonl", jsonl_of(matrix, {.column = "t"}));
  write_file(folder_ / "terms.txt", numbered_lines("t", 900, 4));
  const Digest expected = content_of(*open_matrix(calls_, folder_ / "m.csr"));

  const ImportOptions by_index{.keys = VectorKeys::kIndices};
  const ImportOptions by_term{.vocabulary = folder_ / "terms.txt"};
  EXPECT_EQ(content_of(*imported("m.csr")), expected);
  EXPECT_EQ(content_of(*imported("float.npz")), expected);
  EXPECT_EQ(content_of(*imported("double.npz")), expected);
  EXPECT_EQ(content_of(*imported("index.jsonl", by_index)), expected);
  EXPECT_EQ(content_of(*imported("term.jsonl", by_term)), expected);
}

TEST_F(ImportJobTest, Float64ValuesReachTheStoreUnrounded) {
  CsrMatrix matrix = random_rows(300, 900, 12, 2);
  for (double& value : matrix.values)
    value /= 3;
  write_file(folder_ / "m.npz", npz_of(matrix, {.values = "<f8"}));
  write_file(folder_ / "m.jsonl", jsonl_of(matrix, {.digits = 1}));

  EXPECT_EQ(all_rows(*imported("m.npz")), entries_of(matrix));
  EXPECT_EQ(all_rows(*imported("m.jsonl", {.keys = VectorKeys::kIndices})), entries_of(matrix));
}

TEST_F(ImportJobTest, IntegersEqualFloats) {
  const CsrMatrix matrix = matrix_of(50, {{{1, 3.0}, {7, 120.0}}, {}, {{49, 1.0}}});
  for (const std::string type : {"<f8", "<i8", ">i4", "|u1"}) {
    write_file(folder_ / "m.npz", npz_of(matrix, {.values = type}));

    EXPECT_EQ(all_rows(*imported("m.npz")), entries_of(matrix)) << type;
  }
}

TEST_F(ImportJobTest, AStoreHasTheSurveyOfItsSource) {
  CsrMatrix matrix = random_rows(2100, 900, 12, 3);
  std::swap(matrix.col_indices[0], matrix.col_indices[1]);
  write_csr(folder_ / "m.csr", matrix);
  const auto store = imported("m.csr");
  const auto file = open_matrix(calls_, folder_ / "m.csr");
  const auto comm = make_self_communicator();

  const InputSurvey got = survey_inputs(*store, *store, Irregular::kAccept, *comm).items;

  const InputSurvey want = survey_inputs(*file, *file, Irregular::kAccept, *comm).items;
  EXPECT_EQ(got.row_blocks, want.row_blocks);
  EXPECT_EQ(got.longest_row, want.longest_row);
  EXPECT_EQ(got.counts, want.counts);
  EXPECT_EQ(got.counts.unsorted_rows, 1);
}

TEST_F(ImportJobTest, IrregularRowsAreMadeCanonicalAndCounted) {
  write_csr(
      folder_ / "m.csr",
      matrix_of(9, {{{7, 1.0}, {1, 2.0}}, {{3, 1.0}, {3, 2.0}, {4, 0.0}}, {{5, 1.0}, {5, -1.0}}}));

  const ImportReport report = import("m.csr");

  EXPECT_EQ(report.counts, (CanonicalizationCounts{1, 1, 2, 2}));
  EXPECT_EQ(report.nnz, 3);
  const auto store = open_matrix(calls_, folder_ / "store.h5");
  EXPECT_EQ(all_rows(*store), (std::vector<Entries>{{{1, 2.0}, {7, 1.0}}, {{3, 3.0}}, {}}));
  EXPECT_EQ(store->survey()->counts, report.counts);
}

TEST_F(ImportJobTest, StrictRefusesIrregularRowsAtImportAndInAStore) {
  write_csr(folder_ / "m.csr", matrix_of(9, {{{7, 1.0}, {1, 2.0}}}));
  const std::string store = folder_ / "store.h5";

  EXPECT_THAT(error_of_import("m.csr", {.irregular = Irregular::kRefuse}),
              AllOf(StartsWith("65: "), HasSubstr("m.csr"), HasSubstr("--strict")));
  EXPECT_FALSE(std::filesystem::exists(store));
  import("m.csr");
  EXPECT_THAT(error_of([&] { open_input(calls_, store, "m.csr", Irregular::kRefuse); }),
              AllOf(StartsWith("65: "), HasSubstr("'m.csr'"), HasSubstr("--strict")));
  EXPECT_EQ(open_input(calls_, store, "m.csr", Irregular::kAccept)->info().path, "m.csr");
}

TEST_F(ImportJobTest, UnsortedJsonVectorsAreInOrderEvenIfStrict) {
  write_file(folder_ / "m.jsonl", "{\"id\":1,\"vector\":{\"7\":1,\"1\":2}}");

  const ImportReport report =
      import("m.jsonl", {.keys = VectorKeys::kIndices, .irregular = Irregular::kRefuse});

  EXPECT_EQ(report.counts, CanonicalizationCounts{});
}

TEST_F(ImportJobTest, AFailedImportLeavesNothing) {
  write_file(folder_ / "m.jsonl", "{\"id\":1,\"vector\":{\"a\":1}}\n{\"id\":2,\"vector\":");

  const std::string error = error_of_import("m.jsonl", {.vocabulary = ""});

  EXPECT_THAT(error, StartsWith("65: "));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "store.h5"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "store.h5.tmp"));
}

TEST_F(ImportJobTest, IdsAndTermsComeFromTheSourceOrFromFiles) {
  write_file(folder_ / "m.jsonl", "{\"id\":\"x\",\"vector\":{\"b\":1,\"a\":2}}");
  write_csr(folder_ / "m.csr", matrix_of(2, {{{0, 1.0}}}));
  write_file(folder_ / "ids.txt", "first\r\n");
  write_file(folder_ / "terms.txt", "b\na");
  const ImportOptions options{.vocabulary = folder_ / "terms.txt", .ids = folder_ / "ids.txt"};

  const auto plain = imported("m.jsonl");
  EXPECT_EQ(plain->ids()[0], "x");
  EXPECT_EQ(plain->terms()[0], "a");
  for (const std::string source : {"m.jsonl", "m.csr"}) {
    const auto named = imported(source, options);
    EXPECT_EQ(named->ids()[0], "first");
    EXPECT_EQ(named->terms()[0], "b");
  }
}

TEST_F(ImportJobTest, FilesOfIdsMustFit) {
  write_csr(folder_ / "m.csr", matrix_of(2, {{{0, 1.0}}}));
  write_file(folder_ / "three.txt", "a\nb\nc\n");
  write_file(folder_ / "twice.txt", "a\nb\na\n");
  write_file(folder_ / "empty.txt", "a\n\nb\n");
  write_file(folder_ / "bad.txt", "a\n\xff\n");

  EXPECT_THAT(error_of_import("m.csr", {.ids = folder_ / "three.txt"}),
              AllOf(StartsWith("65: "), HasSubstr("3 lines"), HasSubstr("1 rows")));
  EXPECT_THAT(error_of_import("m.csr", {.vocabulary = folder_ / "three.txt"}),
              AllOf(StartsWith("65: "), HasSubstr("3 lines"), HasSubstr("2 columns")));
  EXPECT_THAT(error_of([&] { read_lines(calls_, folder_ / "twice.txt"); }),
              AllOf(StartsWith("65: "), HasSubstr("line 3"), HasSubstr("line 1")));
  EXPECT_THAT(error_of([&] { read_lines(calls_, folder_ / "empty.txt"); }), HasSubstr("line 2"));
  EXPECT_THAT(error_of([&] { read_lines(calls_, folder_ / "bad.txt"); }), HasSubstr("line 2"));
  write_file(folder_ / "zero.txt", std::string("a\nb\0\n", 5));
  EXPECT_THAT(error_of([&] { read_lines(calls_, folder_ / "zero.txt"); }),
              AllOf(StartsWith("65: "), HasSubstr("line 2"), HasSubstr("zero byte")));
}

TEST_F(ImportJobTest, OtherFilesOfAFolderAreNamedInAWarning) {
  std::filesystem::create_directory(folder_ / "parts");
  for (const std::string name : {"a.jsonl", "b.ndjson", "c.JSONL", "d.json", ".e.json"})
    write_file(folder_ / ("parts/" + name), "{\"id\":1,\"vector\":{\"a\":1}}\n");
  const std::string text = folder_ / "log.txt";
  {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(text.c_str(), "w"),
                                                                 std::fclose);
    Log log({.level = LogLevel::kWarning}, stream.get());
    import_matrix(calls_, folder_ / "parts", folder_ / "store.h5", {}, log);
  }

  EXPECT_THAT(test::read_file(text), AllOf(HasSubstr("'b.ndjson' and 2 more: only files"),
                                           HasSubstr(".jsonl or .jsonl.gz")));
}

TEST_F(ImportJobTest, AStopRequestEndsTheImport) {
  const CsrMatrix matrix = random_rows(3000, 90, 5, 4);
  write_csr(folder_ / "m.csr", matrix);
  write_file(folder_ / "m.npz", npz_of(matrix));
  write_file(folder_ / "m.jsonl", jsonl_of(matrix));

  for (const std::string source : {"m.csr", "m.npz", "m.jsonl"}) {
    EXPECT_THAT(error_of_import(source, {.stop = StopRequest(0.0)}), StartsWith("75: "));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "store.h5"));
  }
  EXPECT_THAT(error_of([&] {
                prepare_input(calls_, folder_ / "m.npz", folder_ / "inputs",
                              {.stop = StopRequest(0.0)}, log_);
              }),
              StartsWith("75: "));
}

TEST_F(ImportJobTest, AnInputIsImportedOnceByItsContent) {
  const CsrMatrix matrix = random_rows(30, 90, 5, 4);
  write_csr(folder_ / "m.csr", matrix);
  write_file(folder_ / "m.npz", npz_of(matrix));
  write_file(folder_ / "copy.npz", npz_of(matrix));
  const std::string inputs = folder_ / "staging/inputs";

  const std::string direct = prepare_input(calls_, folder_ / "m.csr", inputs, {}, log_);
  const std::string first = prepare_input(calls_, folder_ / "m.npz", inputs, {}, log_);
  const auto written = std::filesystem::last_write_time(first);
  const std::string again = prepare_input(calls_, folder_ / "copy.npz", inputs, {}, log_);

  EXPECT_EQ(direct, folder_ / "m.csr");
  const std::string bytes = test::read_file(folder_ / "m.npz");
  EXPECT_EQ(first, inputs + "/" + digest_of(std::as_bytes(std::span(bytes))).hex() + ".h5");
  EXPECT_EQ(again, first);
  EXPECT_EQ(std::filesystem::last_write_time(again), written);
  EXPECT_EQ(all_rows(*open_input(calls_, first, "m.npz", Irregular::kRefuse)), entries_of(matrix));
}

TEST_F(ImportJobTest, OtherOptionsMakeAnotherStore) {
  write_file(folder_ / "m.jsonl", "{\"id\":1,\"vector\":{\"7\":1,\"1\":2}}");
  const std::string inputs = folder_ / "inputs";

  const std::string terms = prepare_input(calls_, folder_ / "m.jsonl", inputs, {}, log_);
  const std::string indices =
      prepare_input(calls_, folder_ / "m.jsonl", inputs, {.keys = VectorKeys::kIndices}, log_);

  EXPECT_NE(terms, indices);
  EXPECT_EQ(open_matrix(calls_, terms)->info().columns, 2);
  EXPECT_EQ(open_matrix(calls_, indices)->info().columns, 8);
}

TEST_F(ImportJobTest, TheReportComparesWithPlainCsr) {
  write_csr(folder_ / "m.csr", random_rows(1024, 100'000, 20, 5));

  const ImportReport report = import("m.csr");

  EXPECT_LT(report.bytes_per_nonzero(), 6.7);
  EXPECT_THAT(report.to_text(), AllOf(HasSubstr("1024 rows"), HasSubstr("plain CSR: 8.00")));
  EXPECT_THAT(report.to_json("s.h5"), AllOf(HasSubstr("\"schema\": 1"), HasSubstr("\"s.h5\"")));
}

class MatchColumnsTest : public ImportJobTest {
 protected:
  /// A store of JSONL lines with a unique name.
  std::unique_ptr<MatrixSource> store_of(const std::string& lines,
                                         const ImportOptions& options = {}) {
    const std::string name = folder_ / std::to_string(count_++);
    write_file(name + ".jsonl", lines);
    import_matrix(calls_, name + ".jsonl", name + ".h5", options, log_);
    return open_matrix(calls_, name + ".h5");
  }

  int count_ = 0;
};

TEST_F(MatchColumnsTest, EqualTermsAreEqualColumnsOfBothSides) {
  SourcePair pair = match_columns({store_of("{\"id\":1,\"vector\":{\"b\":1,\"x\":2}}"),
                                   store_of("{\"id\":1,\"vector\":{\"a\":3,\"b\":4,\"c\":5}}")},
                                  std::nullopt);

  EXPECT_EQ(all_rows(*pair.queries), (std::vector<Entries>{{{1, 1.0}, {3, 2.0}}}));
  EXPECT_EQ(all_rows(*pair.items), (std::vector<Entries>{{{0, 3.0}, {1, 4.0}, {2, 5.0}}}));
  EXPECT_EQ(pair.queries->info().columns, 4);
  EXPECT_EQ(pair.items->info().columns, 4);
  EXPECT_EQ(pair.queries->terms(), pair.items->terms());
  EXPECT_EQ(pair.queries->info().vocabulary, pair.items->info().vocabulary);
  EXPECT_EQ(pair.queries->survey(), nullptr);
  EXPECT_EQ(pair.queries->ids()[0], "1");
}

TEST_F(MatchColumnsTest, EqualVocabulariesStayAsTheyAre) {
  SourcePair pair = match_columns({store_of("{\"id\":1,\"vector\":{\"b\":1,\"x\":2}}"),
                                   store_of("{\"id\":1,\"vector\":{\"x\":3,\"b\":4}}")},
                                  std::nullopt);

  EXPECT_EQ(all_rows(*pair.items), (std::vector<Entries>{{{0, 4.0}, {1, 3.0}}}));
  EXPECT_NE(pair.items->survey(), nullptr);
}

TEST_F(MatchColumnsTest, AGivenVocabularyDecidesTheOrder) {
  const NamedVocabulary vocabulary{read_lines(calls_,
                                              [&] {
                                                write_file(folder_ / "v.txt", "x\nb\na\n");
                                                return folder_ / "v.txt";
                                              }()),
                                   "v.txt"};
  write_csr(folder_ / "plain.csr", matrix_of(3, {{{1, 1.0}}}));

  SourcePair pair = match_columns({open_matrix(calls_, folder_ / "plain.csr"),
                                   store_of("{\"id\":1,\"vector\":{\"b\":1,\"x\":2}}")},
                                  vocabulary);

  EXPECT_EQ(all_rows(*pair.queries), (std::vector<Entries>{{{1, 1.0}}}));
  EXPECT_EQ(all_rows(*pair.items), (std::vector<Entries>{{{0, 2.0}, {1, 1.0}}}));
  EXPECT_EQ(pair.items->info().columns, 3);
  EXPECT_THAT(error_of([&] {
                match_columns({open_matrix(calls_, folder_ / "plain.csr"),
                               store_of("{\"id\":1,\"vector\":{\"new\":1}}")},
                              vocabulary);
              }),
              AllOf(StartsWith("65: "), HasSubstr("'new'"), HasSubstr("v.txt")));
}

TEST_F(MatchColumnsTest, TermsOnOneSideAloneAreRefused) {
  write_csr(folder_ / "plain.csr", matrix_of(1, {{{0, 1.0}}}));

  EXPECT_THAT(error_of([&] {
                match_columns({open_matrix(calls_, folder_ / "plain.csr"),
                               store_of("{\"id\":1,\"vector\":{\"b\":1}}")},
                              std::nullopt);
              }),
              AllOf(StartsWith("65: "), HasSubstr("plain.csr"), HasSubstr("--vocab")));
}

TEST_F(MatchColumnsTest, ASideWithoutANumberOfColumnsFits) {
  const ImportOptions by_index{.keys = VectorKeys::kIndices};
  write_csr(folder_ / "plain.csr", matrix_of(9, {{{8, 1.0}}}));

  SourcePair pair = match_columns({store_of("{\"id\":1,\"vector\":{\"2\":1}}", by_index),
                                   open_matrix(calls_, folder_ / "plain.csr")},
                                  std::nullopt);

  EXPECT_EQ(pair.queries->info().columns, 9);
  EXPECT_EQ(all_rows(*pair.queries), (std::vector<Entries>{{{2, 1.0}}}));
  EXPECT_NE(pair.queries->survey(), nullptr);
}

}  // namespace
}  // namespace bulksim
