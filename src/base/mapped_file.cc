#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace lockstep {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Status system_error(const std::string& path, int error) {
  const std::string what = std::generic_category().message(error);
  if (error == ENOENT || error == ENOTDIR) return not_found("{}: {}", quote_text(path), what);
  return failed_precondition("{}: {}", quote_text(path), what);
}

// The size of an open file that may be read whole.
StatusOr<uint64_t> checked_size(int fd, const std::string& path, uint64_t max_bytes) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return system_error(path, errno);
  if (!S_ISREG(info.st_mode)) return invalid_argument("{} is not a regular file", quote_text(path));
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > max_bytes) {
    return invalid_argument("{} has {} bytes; at most {} are allowed", quote_text(path), size,
                            max_bytes);
  }
  return size;
}

// O_NONBLOCK: opening a FIFO without a writer would wait for ever.
int open_for_reading(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

}  // namespace

StatusOr<MappedFile> MappedFile::open(const std::string& path, uint64_t max_bytes) {
  const FileDescriptor fd(open_for_reading(path));
  if (fd.get() < 0) return system_error(path, errno);
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t size, checked_size(fd.get(), path, max_bytes));
  if (size == 0) return MappedFile(std::span<const std::byte>());  // mmap refuses length 0
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (map == MAP_FAILED) return system_error(path, errno);
  return MappedFile(std::span(static_cast<const std::byte*>(map), size));
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::advise_dont_need(std::span<const std::byte> range) const {
  if (range.empty()) return;
  // The map begins at a page, so rounding down stays inside it.
  const auto page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t before = reinterpret_cast<uintptr_t>(range.data()) % page_bytes;
  std::byte* begin = const_cast<std::byte*>(range.data()) - before;
  ::madvise(begin, before + range.size(), MADV_DONTNEED);
}

StatusOr<std::string> read_file(const std::string& path, uint64_t max_bytes) {
  const FileDescriptor fd(open_for_reading(path));
  if (fd.get() < 0) return system_error(path, errno);
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t size, checked_size(fd.get(), path, max_bytes));
  std::string out(size, '\0');
  uint64_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(fd.get(), out.data() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path, errno);
    if (n == 0) return failed_precondition("{} became shorter while it was read", quote_text(path));
    done += static_cast<uint64_t>(n);
  }
  return out;
}

}  // namespace lockstep
