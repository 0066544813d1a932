// Digests: SHA-256 where identity must hold against an adversary (models, states), XXH3 where two
// of our own runs are compared (logits). And the hash of tables whose keys come from outside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

using Sha256Digest = std::array<uint8_t, 32>;

std::string hex(std::span<const uint8_t> bytes);  // lower case

// Streaming. Thread rule: one thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  // Ends the stream. REQUIRES: called once, no update after it.
  Sha256Digest finish();

  static Sha256Digest of(std::span<const std::byte> bytes);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// Hashes text for a hash table, seeded at random once a process: no file or request can choose keys
// that collide. Nothing may depend on the order of such a table.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const;
};

// XXH3, 128 bits, as 32 hex digits in the canonical (big endian) order of `xxhsum -H2`.
std::string xxh3_128_hex(std::span<const std::byte> bytes);

}  // namespace lockstep
