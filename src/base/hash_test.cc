#include "base/hash.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace lockstep {
namespace {

// FIPS 180-2, appendix B.
TEST(Sha256, MatchesThePublishedExamples) {
  EXPECT_EQ(hex(Sha256::of(as_bytes(""))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(Sha256::of(as_bytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, PiecesHashAsTheWhole) {
  Sha256 hash;
  hash.update(as_bytes("a"));
  hash.update({});
  hash.update(as_bytes("bc"));
  EXPECT_EQ(hash.finish(), Sha256::of(as_bytes("abc")));
}

// `printf abc | xxhsum -H2`
TEST(Xxh3, MatchesTheReferenceTool) {
  EXPECT_EQ(xxh3_128_hex(as_bytes("abc")), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(xxh3_128_hex(as_bytes("")), "99aa06d3014798d86001c324468d497f");
}

TEST(TextHash, EqualTextHashesEqual) {
  EXPECT_EQ(TextHash()(std::string("abc")), TextHash()("abc"));
  EXPECT_NE(TextHash()("abc"), TextHash()("abd"));
}

}  // namespace
}  // namespace lockstep
