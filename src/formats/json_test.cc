#include "formats/json.h"

#include <gtest/gtest.h>

#include "formats/testing/refusal.h"

namespace lockstep::formats {
namespace {

StatusOr<JsonValue> parse(std::string_view text) { return parse_json(text, {}); }
void refuse(std::string_view text, std::string_view part = "JSON at byte") {
  expect_refused(parse(text), part);
}

TEST(Json, ValuesOfEveryKind) {
  const auto root = parse(R"({"n":null,"t":true,"i":-5,"d":1.5,"s":"x\u00e9","a":[1,[]],"o":{}})");
  ASSERT_TRUE(root.ok()) << root.status();
  const JsonObject& object = *root->if_object();
  EXPECT_TRUE(object.find("n")->is_null());
  EXPECT_TRUE(*object.find("t")->if_bool());
  EXPECT_EQ(*object.find("i")->if_int64(), -5);
  EXPECT_EQ(*object.find("d")->if_double(), 1.5);
  EXPECT_EQ(*object.find("s")->if_string(), "x\xc3\xa9");
  EXPECT_EQ(object.find("a")->if_array()->size(), 2u);
  EXPECT_TRUE(object.find("o")->if_object()->members().empty());
  EXPECT_EQ(object.find("absent"), nullptr);
}

TEST(Json, MembersKeepTheirOrder) {
  const auto root = parse(R"({"z":1,"a":2,"m":3})");
  const auto members = root->if_object()->members();
  EXPECT_EQ(members[0].key, "z");
  EXPECT_EQ(members[1].key, "a");
  EXPECT_EQ(members[2].key, "m");
}

TEST(Json, DuplicateKeysAreRefused) {
  refuse(R"({"a":1,"b":2,"a":1})", "key 'a' occurs twice");
  refuse(R"({"x":{"a":1,"\u0061":2}})", "key 'a' occurs twice");
  EXPECT_TRUE(parse(R"([{"a":1},{"a":1}])").ok());
}

TEST(Json, IntegersKeepAllTheirBits) {
  EXPECT_EQ(*parse("9223372036854775807")->if_int64(), INT64_MAX);
  EXPECT_EQ(*parse("-9223372036854775808")->if_int64(), INT64_MIN);
  EXPECT_EQ(*parse("9223372036854775808")->if_uint64(), uint64_t{1} << 63);
  EXPECT_EQ(*parse("18446744073709551615")->if_uint64(), UINT64_MAX);
  EXPECT_EQ(*parse("9007199254740993")->if_int64(), 9007199254740993);
}

TEST(Json, LongIntegersAndFractionsAreTheNearestDouble) {
  EXPECT_EQ(*parse("1000000000000000019884624838656")->if_double(), 1e30);
  EXPECT_EQ(*parse("8.0")->if_double(), 8.0);
  EXPECT_EQ(*parse("1e3")->if_double(), 1000.0);
  // Doubles that the parser library's own conversion misses by an ulp.
  EXPECT_EQ(*parse("0.1234567890123456789")->if_double(), 0.1234567890123456789);
  EXPECT_EQ(*parse("9.5367431640625e-7")->if_double(), 9.5367431640625e-7);
  EXPECT_EQ(*parse("1.7976931348623157e308")->if_double(), 1.7976931348623157e308);
  EXPECT_EQ(*parse("2.2250738585072011e-308")->if_double(), 2.2250738585072011e-308);
}

TEST(Json, NumbersPastADoublesRangeAreRefused) {
  refuse("1e999", "outside the range of a double");
  refuse("-1e999", "outside the range of a double");
  refuse("[" + std::string(400, '9') + "]", "outside the range of a double");
}

TEST(Json, NumbersThatJsonDoesNotHaveAreRefused) {
  for (const char* text : {"NaN", "Infinity", "-Infinity", "+1", "01", "1.", ".5", "0x10", "1e"}) {
    SCOPED_TRACE(text);
    refuse(text);
  }
}

TEST(Json, UnclosedAndTrailingTextIsRefused) {
  for (const char* text : {"", " ", "{", "[1", R"({"a")", R"("abc)", "[1,]", R"({"a":1,})", "{} {}",
                           "1 2", "[]]", "nul", "{a:1}", "// c\n1", "'a'"}) {
    SCOPED_TRACE(text);
    refuse(text);
  }
  EXPECT_TRUE(parse(" {} \n\t").ok());
}

TEST(Json, NulByteInTheTextIsRefused) { refuse(std::string_view("[1]\0", 4)); }

TEST(Json, InvalidUtf8IsRefused) {
  for (const char* text :
       {"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf5\x80\x80\x80\"", "{\"\xc3\":1}"}) {
    refuse(text);
  }
}

TEST(Json, LoneSurrogatesAreRefused) {
  for (const char* text : {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\ud800x")"}) {
    SCOPED_TRACE(text);
    refuse(text);
  }
  EXPECT_EQ(*parse(R"("\ud83d\ude00")")->if_string(), "\xf0\x9f\x98\x80");
}

TEST(Json, DepthIsBounded) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  const JsonLimits limits{.max_depth = 4};
  EXPECT_TRUE(parse_json(nested(4), limits).ok());
  expect_refused(parse_json(nested(5), limits), "JSON at byte");
  refuse(std::string(1000000, '['));
  refuse(std::string(100000, '[') + std::string(100000, ']'));
}

TEST(Json, BytesAndValuesAreBounded) {
  expect_refused(parse_json("[1,2]", {.max_bytes = 4}), "JSON of 5 bytes; at most 4");
  EXPECT_TRUE(parse_json("[1,2]", {.max_values = 3}).ok());
  expect_refused(parse_json("[1,2]", {.max_values = 2}), "more than 2 values");
  expect_refused(parse_json(R"([[],{"a":[]}])", {.max_values = 3}), "more than 3 values");
}

TEST(JsonFields, ErrorsNameThePathTheValueAndWhatIsAllowed) {
  const auto root = parse(R"({"rope":{"factor":"x","n":1.5,"big":7,"list":[],"t":1,"z":null}})");
  const auto fields = JsonFields::of(*root, "");
  const auto rope = fields->object("rope");
  ASSERT_TRUE(rope.ok());
  EXPECT_EQ(message_of(rope->number("factor", 0, 1).status()),
            "rope.factor is 'x'; expected a number in [0, 1]");
  EXPECT_EQ(message_of(rope->integer("n", 0, 1).status()),
            "rope.n is 1.5; expected an integer in [0, 1]");
  EXPECT_EQ(message_of(rope->integer("big", 0, 6).status()),
            "rope.big is 7; expected an integer in [0, 6]");
  EXPECT_EQ(message_of(rope->string("list").status()), "rope.list is an array; expected a string");
  EXPECT_EQ(message_of(rope->boolean("t").status()), "rope.t is 1; expected true or false");
  EXPECT_EQ(message_of(rope->array("t").status()), "rope.t is 1; expected an array");
  EXPECT_EQ(message_of(rope->integer("z", 0, 1).status()), "rope.z is missing");
  EXPECT_EQ(message_of(rope->object("absent").status()), "rope.absent is missing");
  EXPECT_EQ(message_of(JsonFields::of(*parse("[]"), "").status()),
            "the document is an array; expected an object");
}

TEST(JsonFields, FallbackIsForAbsentAndNullAlone) {
  const auto root = parse(R"({"z":null,"n":9,"s":1})");
  const auto fields = JsonFields::of(*root, "");
  EXPECT_EQ(*fields->integer_or("z", 5, 0, 6), 5);
  EXPECT_EQ(*fields->integer_or("absent", 5, 0, 6), 5);
  expect_refused(fields->integer_or("n", 5, 0, 6), "n is 9");
  expect_refused(fields->string_or("s", "x"), "s is 1");
  EXPECT_EQ(*fields->number_or("n", 1.0, 0, 10), 9.0);
  EXPECT_TRUE(*fields->boolean_or("absent", true));
}

TEST(JsonEscaped, IsReadBackAsItWas) {
  std::string text = "\"\\/ \n\xc3\xa9";
  for (char c = 0; c < 32; ++c) text += c;
  EXPECT_EQ(*parse(json_escaped(text))->if_string(), text);
}

}  // namespace
}  // namespace lockstep::formats
