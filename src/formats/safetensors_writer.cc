#include "formats/safetensors_writer.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/text.h"
#include "formats/json.h"

namespace lockstep::formats {
namespace {

Status write_error(const std::string& path, int error) {
  return failed_precondition("{}: {}", quote_text(path), std::generic_category().message(error));
}

// The header, padded with spaces so that the data begins at a multiple of 8.
StatusOr<std::string> header_json(const std::vector<TensorSpec>& specs, uint64_t* data_bytes) {
  std::string out = "{";
  uint64_t begin = 0;
  for (const TensorSpec& spec : specs) {
    const std::vector<uint64_t> factors(spec.shape.begin(), spec.shape.end());
    const auto elements = checked_product(factors);
    const auto bytes = elements ? dtype_bytes(spec.dtype, *elements) : std::nullopt;
    const auto end = bytes ? checked_add(begin, *bytes) : std::nullopt;
    if (!end) return invalid_argument("tensor {} is too large", quote_text(spec.name));
    if (out.size() > 1) out += ',';
    out += fmt::format(R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                       json_escaped(spec.name), dtype_name(spec.dtype), shape_string(spec.shape),
                       begin, *end);
    begin = *end;
  }
  out += '}';
  out.resize(static_cast<size_t>(round_up(static_cast<int64_t>(out.size()), 8)), ' ');
  *data_bytes = begin;
  return out;
}

}  // namespace

StatusOr<SafetensorsWriter> SafetensorsWriter::create(const std::string& path,
                                                      const std::vector<TensorSpec>& specs) {
  SafetensorsWriter out;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string json, header_json(specs, &out.left_bytes_));
  out.path_ = path;
  out.temporary_path_ = fmt::format("{}.{}.partial", path, ::getpid());
  out.file_.reset(std::fopen(out.temporary_path_.c_str(), "wbe"));
  if (out.file_ == nullptr) return write_error(path, errno);
  ByteWriter header;
  header.sized_text(json);
  LOCKSTEP_RETURN_IF_ERROR(out.write(header.bytes()));
  return out;
}

SafetensorsWriter::~SafetensorsWriter() {
  if (file_ != nullptr) std::remove(temporary_path_.c_str());
}

Status SafetensorsWriter::write(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    return write_error(path_, errno);
  }
  return ok_status();
}

Status SafetensorsWriter::append(std::span<const std::byte> bytes) {
  if (bytes.size() > left_bytes_) {
    return failed_precondition("{} bytes appended where {} are left", bytes.size(), left_bytes_);
  }
  left_bytes_ -= bytes.size();
  return write(bytes);
}

Status SafetensorsWriter::finish() {
  if (left_bytes_ != 0) return failed_precondition("{} bytes were not appended", left_bytes_);
  if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0 ||
      std::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return write_error(path_, errno);
  }
  file_.reset();
  return ok_status();
}

}  // namespace lockstep::formats
