#include "core/text/json.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bulksim/core/error.hpp"

namespace bulksim {
namespace {

/// The sentence of the Error (65) that an action throws.
template <class Action>
std::string sentence_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kDataError);
    return error.what();
  }
  return "";
}

TEST(JsonObject, KeepsTheOrderOfItsKeysAndIndentsPerLevel) {
  JsonObject json;
  json.add("zebra", 1).add("apple", JsonObject().add("b", true).add("a", nullptr));
  JsonArray range;
  range.add(std::int64_t{3}).add(std::int64_t{4});
  json.add("range", range).add("none", JsonArray()).add("nothing", JsonObject());

  EXPECT_EQ(json.text(1),
            "{\n \"zebra\": 1,\n \"apple\": {\n  \"b\": true,\n  \"a\": null\n },\n"
            " \"range\": [\n  3,\n  4\n ],\n \"none\": [],\n \"nothing\": {}\n}");
  EXPECT_EQ(json.ascii_line(),
            "{\"zebra\":1,\"apple\":{\"b\":true,\"a\":null},\"range\":[3,4],\"none\":[],"
            "\"nothing\":{}}");
}

TEST(JsonObject, AKeyAddedAgainKeepsItsPlaceAndGetsTheLaterValue) {
  JsonObject json;

  json.add("a", 1).add("b", 2).add("a", "x");

  EXPECT_EQ(json.ascii_line(), "{\"a\":\"x\",\"b\":2}");
}

TEST(JsonObject, WritesNumbersWithTheFewestDigitsThatReadBackExactly) {
  JsonObject json;

  json.add("int", std::numeric_limits<std::int64_t>::min())
      .add("unsigned", std::numeric_limits<std::uint64_t>::max())
      .add("whole", 20.0)
      .add("tenth", 0.1)
      .add("small", 1.28645460393257e-07)
      .add("float", static_cast<double>(0.1f))
      .add("least", std::numeric_limits<double>::denorm_min())
      .add("most", std::numeric_limits<double>::max())
      .add("zero", -0.0)
      .add("nan", std::numeric_limits<double>::quiet_NaN())
      .add("list", std::vector<double>{1.5, 2e22});

  EXPECT_EQ(json.ascii_line(),
            "{\"int\":-9223372036854775808,\"unsigned\":18446744073709551615,\"whole\":20.0,"
            "\"tenth\":0.1,\"small\":1.28645460393257e-07,\"float\":0.10000000149011612,"
            "\"least\":5e-324,\"most\":1.7976931348623157e+308,\"zero\":-0.0,\"nan\":null,"
            "\"list\":[1.5,2e+22]}");
}

TEST(JsonObject, EscapesTextsAndReplacesBytesThatAreNotUtf8) {
  JsonObject json;

  json.add("text", "a\"\\\n\t\x01/\xc3\xa9").add("broken", std::string("x\xff"));

  EXPECT_EQ(
      json.text(1),
      "{\n \"text\": \"a\\\"\\\\\\n\\t\\u0001/\xc3\xa9\",\n \"broken\": \"x\xef\xbf\xbd\"\n}");
  EXPECT_EQ(json.ascii_line(),
            "{\"text\":\"a\\\"\\\\\\n\\t\\u0001/\\u00e9\",\"broken\":\"x\\ufffd\"}");
}

TEST(JsonReader, ReadsBackWhatWasWritten) {
  JsonObject json;
  JsonArray list;
  list.add(JsonObject().add("name", "first")).add(JsonObject().add("name", "second"));
  json.add("yes", true)
      .add("count", std::int64_t{-7})
      .add("seed", std::numeric_limits<std::uint64_t>::max())
      .add("bound", 1.28645460393257e-07)
      .add("side", JsonObject().add("rows", 12))
      .add("names", std::vector<std::string>{"a", "b"})
      .add("list", list);

  const JsonReader read = JsonReader::parse(json.text(1));

  EXPECT_TRUE(read.boolean("yes"));
  EXPECT_EQ(read.integer("count"), -7);
  EXPECT_EQ(read.unsigned_integer("seed"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(read.number("bound"), 1.28645460393257e-07);
  EXPECT_EQ(read.integer("side/rows"), 12);
  EXPECT_EQ(read.text("names/1"), "b");
  EXPECT_EQ(read.size("list"), 2);
  ASSERT_EQ(read.objects("list").size(), 2U);
  EXPECT_EQ(read.objects("list")[1].text("name"), "second");
  EXPECT_THAT(read.find_texts("names"), testing::Optional(testing::ElementsAre("a", "b")));
}

TEST(JsonReader, ReportsAKeyThatIsMissingOrOfAnotherType) {
  const JsonReader read = JsonReader::parse(R"({"side": {"rows": "many"}, "big": 1e300, "n": -1})");

  EXPECT_EQ(sentence_of([&] { read.integer("side/columns"); }), "'side/columns' is missing");
  EXPECT_EQ(sentence_of([&] { read.integer("side/rows"); }), "'side/rows' is not an integer");
  EXPECT_EQ(sentence_of([&] { read.integer("big"); }), "'big' is not an integer");
  EXPECT_EQ(sentence_of([&] { read.unsigned_integer("n"); }), "'n' is not an integer of 0 or more");
  EXPECT_EQ(sentence_of([&] { read.text("n"); }), "'n' is not a string");
  EXPECT_EQ(sentence_of([&] { read.objects("side"); }), "'side' is not an array of objects");
  EXPECT_EQ(read.find_integer("side/rows/0"), std::nullopt);
  EXPECT_EQ(read.find_text("n"), std::nullopt);
}

TEST(JsonReader, RefusesTextThatIsNotOneObjectOrIsNestedTooDeeply) {
  for (const char* text : {"", "[1]", "{", "{} {}", "{\"a\": \"\xff\"}"}) {
    EXPECT_EQ(sentence_of([&] { JsonReader::parse(text); }), "it is not a JSON object") << text;
    EXPECT_TRUE(JsonReader::parse_or_empty(text).empty()) << text;
  }
  EXPECT_EQ(sentence_of([] { JsonReader::parse(R"({"a": {"b": {"c": {}}}})", 2); }),
            "it is nested too deeply");
  EXPECT_TRUE(JsonReader::parse_or_empty(std::string(1 << 20, '[')).empty());
}

}  // namespace
}  // namespace bulksim
