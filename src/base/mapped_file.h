// A read-only memory map of a regular file.
//
// Thread rule: const methods from any thread. Ownership: unmaps in the destructor; spans of bytes()
// are valid until then. The map is private, but a file that another process shortens while it is
// mapped faults on access, as with every map: replace model files by renaming, not in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace lockstep {

class MappedFile {
 public:
  // not_found, or invalid_argument for what is not a regular file or is over `max_bytes`.
  static StatusOr<MappedFile> open(const std::string& path, uint64_t max_bytes);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

  // Gives the memory of a range back to the system, whole pages outward; a later read maps it
  // again. REQUIRES: the range lies in bytes().
  void advise_dont_need(std::span<const std::byte> range) const;

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

// The whole file as a string, under the same rules: for small files that are parsed once.
StatusOr<std::string> read_file(const std::string& path, uint64_t max_bytes);

}  // namespace lockstep
