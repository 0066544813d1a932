#include "base/bytes.h"

namespace lockstep {

Status ByteReader::too_short(uint64_t wanted) const {
  return invalid_argument("needs {} bytes at offset {}, {} remain", wanted, position_, remaining());
}

StatusOr<std::span<const std::byte>> ByteReader::bytes(uint64_t n) {
  if (n > remaining()) return too_short(n);
  auto out = bytes_.subspan(position_, n);
  position_ += n;
  return out;
}

StatusOr<std::string_view> ByteReader::text(uint64_t n) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto raw, bytes(n));
  return std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size());
}

StatusOr<ByteReader> ByteReader::child(uint64_t n) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto raw, bytes(n));
  return ByteReader(raw);
}

}  // namespace lockstep
