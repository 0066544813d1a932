// What may stand in an --ids file, and each kind of token id that must not.
#include "tools/ids_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/testing/folder.h"
#include "formats/testing/refusal.h"

namespace lockstep::tools {
namespace {

using formats::expect_refused;
using ::testing::ElementsAre;

class IdsFileTest : public ::testing::Test {
 protected:
  // The ids of the first list, as plain numbers.
  std::vector<int32_t> first_list(std::string_view json) const {
    const auto lists = parse(json);
    EXPECT_TRUE(lists.ok()) << message_of(lists.status());
    std::vector<int32_t> ids;
    if (lists.ok()) {
      for (const TokenId id : lists->front()) ids.push_back(id.value());
    }
    return ids;
  }
  StatusOr<std::vector<std::vector<TokenId>>> parse(std::string_view json) const {
    return parse_ids(json, vocabulary_);
  }
  // `id` as the second token of the second list.
  void expect_id_refused(std::string_view id, std::string_view why) const {
    const auto lists = parse(fmt::format("[[1], [2, {}]]", id));
    expect_refused(lists, why);
    expect_refused(lists, "list 1, token 1");
  }
  const Vocabulary vocabulary_ = *Vocabulary::create(384);
};

TEST_F(IdsFileTest, FirstAndLastRowOfTheTableAreTaken) {
  EXPECT_THAT(first_list("[[0, 383, 0]]"), ElementsAre(0, 383, 0));
}

TEST_F(IdsFileTest, MinusOneIsRefused) { expect_id_refused("-1", "-1 is outside [0, 383]"); }
TEST_F(IdsFileTest, VocabularySizeIsRefused) { expect_id_refused("384", "384 is outside"); }
TEST_F(IdsFileTest, PaddedVocabularyIsRefused) { expect_id_refused("447", "447 is outside"); }
TEST_F(IdsFileTest, TwoTo31IsRefused) { expect_id_refused("2147483648", "2147483648"); }
TEST_F(IdsFileTest, TwoTo32PlusAGoodIdIsRefused) { expect_id_refused("4294967303", "4294967303"); }
TEST_F(IdsFileTest, TwoTo63IsRefused) { expect_id_refused("9223372036854775808", "922337"); }
TEST_F(IdsFileTest, TwoTo64IsRefused) { expect_id_refused("18446744073709551616", "integer"); }
TEST_F(IdsFileTest, FractionIsRefused) { expect_id_refused("1.5", "1.5"); }
TEST_F(IdsFileTest, WholeNumberSpelledAsAFractionIsRefused) { expect_id_refused("7.0", "integer"); }
TEST_F(IdsFileTest, TextIsRefused) { expect_id_refused("\"7\"", "'7'"); }
TEST_F(IdsFileTest, TrueIsRefused) { expect_id_refused("true", "true"); }
TEST_F(IdsFileTest, NullIsRefused) { expect_id_refused("null", "null"); }
TEST_F(IdsFileTest, ListInsideAListIsRefused) { EXPECT_FALSE(parse("[[1, [2]]]").ok()); }

TEST_F(IdsFileTest, EmptyPromptIsRefused) { expect_refused(parse("[[1], []]"), "list 1 is empty"); }
TEST_F(IdsFileTest, NoListsAreRefused) { expect_refused(parse("[]"), "list of lists"); }
TEST_F(IdsFileTest, OnePlainListIsRefused) { expect_refused(parse("[1, 2]"), "list 0 is 1"); }
TEST_F(IdsFileTest, ObjectIsRefused) { expect_refused(parse("{\"ids\": [1]}"), "list of lists"); }
TEST_F(IdsFileTest, BytesAfterTheListAreRefused) { EXPECT_FALSE(parse("[[1]] [[2]]").ok()); }
TEST_F(IdsFileTest, CutFileIsRefused) { EXPECT_FALSE(parse("[[1, 2").ok()); }

TEST_F(IdsFileTest, ErrorsNameTheFile) {
  const formats::TestFolder folder;
  folder.write("ids.json", "[[384]]");
  expect_refused(read_ids_file(folder.path("ids.json"), vocabulary_), folder.path("ids.json"));
  expect_refused(read_ids_file(folder.path("absent.json"), vocabulary_), "absent.json");
}

}  // namespace
}  // namespace lockstep::tools
