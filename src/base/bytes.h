// A cursor over bytes from outside, and its opposite.
//
// ByteReader compares every length with what remains and never adds to what is claimed, so no
// length, however large, can wrap or leave the span. Numbers are little endian at any alignment.
//
//   ByteReader reader(file);
//   LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t length, reader.u64());
//   LOCKSTEP_ASSIGN_OR_RETURN(ByteReader header, reader.child(length));
//
// Thread rule: one thread at a time. Ownership: borrows; the bytes must outlive readers and views.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lockstep {

static_assert(std::endian::native == std::endian::little);

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  StatusOr<uint8_t> u8() { return number<uint8_t>(); }
  StatusOr<uint16_t> u16() { return number<uint16_t>(); }
  StatusOr<uint32_t> u32() { return number<uint32_t>(); }
  StatusOr<uint64_t> u64() { return number<uint64_t>(); }
  StatusOr<int8_t> i8() { return number<int8_t>(); }
  StatusOr<int16_t> i16() { return number<int16_t>(); }
  StatusOr<int32_t> i32() { return number<int32_t>(); }
  StatusOr<int64_t> i64() { return number<int64_t>(); }
  StatusOr<float> f32() { return number<float>(); }
  StatusOr<double> f64() { return number<double>(); }

  // The next n bytes. invalid_argument, and no move, when fewer remain; so for every read here.
  StatusOr<std::span<const std::byte>> bytes(uint64_t n);
  StatusOr<std::string_view> text(uint64_t n);
  // A cursor over the next n bytes alone, for a structure whose length came before it.
  StatusOr<ByteReader> child(uint64_t n);

 private:
  template <class T>
  StatusOr<T> number() {
    if (remaining() < sizeof(T)) return too_short(sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }
  Status too_short(uint64_t wanted) const;

  std::span<const std::byte> bytes_;
  uint64_t position_ = 0;
};

// Appends numbers, little endian, and bytes to a string it owns.
class ByteWriter {
 public:
  template <class T>
  requires std::integral<T> || std::floating_point<T>
  void number(T value) { out_.append(reinterpret_cast<const char*>(&value), sizeof(T)); }
  void text(std::string_view text) { out_.append(text); }
  // A uint64 length, then the bytes.
  void sized_text(std::string_view value) {
    number<uint64_t>(value.size());
    text(value);
  }

  const std::string& str() const { return out_; }
  std::span<const std::byte> bytes() const { return as_bytes(out_); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace lockstep
