#include "formats/gguf.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/text.h"

namespace lockstep::formats {
namespace {

// Everything in front of the data. The largest published one (262,144 tokens, 514,906 merges) has
// about 16 MiB.
constexpr uint64_t kMaxHeaderBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxKeys = 1 << 16;
constexpr uint64_t kMaxKeyBytes = (1 << 16) - 1;
constexpr uint64_t kMaxNameBytes = 1024;
constexpr uint64_t kMaxArrayElements = uint64_t{1} << 24;
constexpr uint32_t kMaxDimensions = 4;
constexpr uint64_t kDefaultAlignment = 32;
constexpr int64_t kMaxAlignment = 1 << 16;
constexpr std::string_view kAlignmentKey = "general.alignment";

// Bytes that the smallest entry takes, to bound a count by what remains.
constexpr uint64_t kMinKeyBytes = 8 + 4 + 1;             // empty key, type, one byte
constexpr uint64_t kMinTensorBytes = 8 + 4 + 8 + 4 + 8;  // empty name, one dimension

Status check_count(std::string_view what, uint64_t count, uint64_t most, const ByteReader& reader,
                   uint64_t least_bytes) {
  const uint64_t fits = std::min(most, reader.remaining() / least_bytes);
  if (count <= fits) return ok_status();
  return invalid_argument("{} {}; at most {} are allowed or fit in the file", count, what, fits);
}

StatusOr<std::string_view> read_string(ByteReader& reader) {
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t length, reader.u64());
  return reader.text(length);
}

StatusOr<GgufType> read_type(ByteReader& reader) {
  LOCKSTEP_ASSIGN_OR_RETURN(const uint32_t type, reader.u32());
  if (type > static_cast<uint32_t>(GgufType::kF64)) {
    return invalid_argument("value type {} is outside [0, 12]", type);
  }
  return static_cast<GgufType>(type);
}

StatusOr<bool> read_bool(ByteReader& reader) {
  LOCKSTEP_ASSIGN_OR_RETURN(const uint8_t byte, reader.u8());
  if (byte > 1) return invalid_argument("boolean {} is neither 0 nor 1", byte);
  return byte == 1;
}

uint64_t number_bytes(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool:
      return 1;
    case GgufType::kU16:
    case GgufType::kI16:
      return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32:
      return 4;
    default:
      return 8;
  }
}

StatusOr<GgufArray> read_array(ByteReader& reader) {
  GgufArray array;
  LOCKSTEP_ASSIGN_OR_RETURN(array.element, read_type(reader));
  LOCKSTEP_ASSIGN_OR_RETURN(array.count, reader.u64());
  if (array.element == GgufType::kArray)
    return invalid_argument("arrays of arrays are not allowed");
  const uint64_t element_bytes = number_bytes(array.element);  // of a string: its length field
  LOCKSTEP_RETURN_IF_ERROR(
      check_count("array elements", array.count, kMaxArrayElements, reader, element_bytes));
  if (array.element == GgufType::kString) {
    array.strings.reserve(array.count);
    for (uint64_t i = 0; i < array.count; ++i) {
      LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view text, read_string(reader));
      array.strings.push_back(text);
    }
    return array;
  }
  LOCKSTEP_ASSIGN_OR_RETURN(array.numbers, reader.bytes(array.count * element_bytes));
  if (array.element == GgufType::kBool) {
    ByteReader values(array.numbers);
    while (values.remaining() > 0) LOCKSTEP_RETURN_IF_ERROR(read_bool(values).status());
  }
  return array;
}

template <class T>
StatusOr<GgufValue> widened(StatusOr<T> number) {
  if (!number.ok()) return number.status();
  if constexpr (std::is_same_v<T, uint64_t>) {
    if (*number > static_cast<uint64_t>(INT64_MAX)) return GgufValue(*number);
  }
  if constexpr (std::is_integral_v<T>) {
    return GgufValue(static_cast<int64_t>(*number));
  } else {
    return GgufValue(static_cast<double>(*number));
  }
}

template <class T>
StatusOr<GgufValue> as_value(StatusOr<T> value) {
  if (!value.ok()) return value.status();
  return GgufValue(*std::move(value));
}

StatusOr<GgufValue> read_value(ByteReader& reader) {
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufType type, read_type(reader));
  switch (type) {
    case GgufType::kU8:
      return widened(reader.u8());
    case GgufType::kI8:
      return widened(reader.i8());
    case GgufType::kU16:
      return widened(reader.u16());
    case GgufType::kI16:
      return widened(reader.i16());
    case GgufType::kU32:
      return widened(reader.u32());
    case GgufType::kI32:
      return widened(reader.i32());
    case GgufType::kU64:
      return widened(reader.u64());
    case GgufType::kI64:
      return widened(reader.i64());
    case GgufType::kF32:
      return widened(reader.f32());
    case GgufType::kF64:
      return widened(reader.f64());
    case GgufType::kBool:
      return as_value(read_bool(reader));
    case GgufType::kString:
      return as_value(read_string(reader));
    case GgufType::kArray:
      return as_value(read_array(reader));
  }
  return internal_error("value type {} passed its check", static_cast<uint32_t>(type));
}

StatusOr<GgufMetadata> read_metadata(ByteReader& reader, uint64_t count) {
  std::vector<std::pair<std::string_view, GgufValue>> entries;
  for (uint64_t i = 0; i < count; ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t length, reader.u64());
    if (!(1 <= length && length <= kMaxKeyBytes)) {
      return invalid_argument("key {} has a length of {}; allowed: [1, {}]", i, length,
                              kMaxKeyBytes);
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view key, reader.text(length));
    auto value = read_value(reader);
    if (!value.ok()) return annotate(value.status(), quote_text(key));
    entries.emplace_back(key, *std::move(value));
  }
  return GgufMetadata::create(std::move(entries));
}

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// The file has the innermost dimension first.
StatusOr<Shape> read_shape(ByteReader& reader) {
  LOCKSTEP_ASSIGN_OR_RETURN(const uint32_t dimensions, reader.u32());
  if (!(1 <= dimensions && dimensions <= kMaxDimensions)) {
    return invalid_argument("{} dimensions; allowed: [1, {}]", dimensions, kMaxDimensions);
  }
  Shape shape(dimensions);
  for (uint32_t i = 0; i < dimensions; ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t size, reader.i64());
    if (size < 1) {
      return invalid_argument("dimension {} is {}; it must be from 1 to 2^63 - 1", i, size);
    }
    shape[dimensions - 1 - i] = size;
  }
  return shape;
}

StatusOr<DType> read_dtype(ByteReader& reader) {
  LOCKSTEP_ASSIGN_OR_RETURN(const uint32_t type, reader.u32());
  if (const auto dtype = dtype_from_ggml(type)) return *dtype;
  const std::string_view name = ggml_type_name(type);
  if (name.empty()) return invalid_argument("tensor type {} is unknown", type);
  return unimplemented("tensor type {} ({}) is not supported", name, type);
}

// Everything about a tensor that does not need the others; its name is read already.
StatusOr<TensorInfo> read_tensor_info(ByteReader& reader) {
  TensorInfo info;
  LOCKSTEP_ASSIGN_OR_RETURN(info.shape, read_shape(reader));
  LOCKSTEP_ASSIGN_OR_RETURN(info.dtype, read_dtype(reader));
  LOCKSTEP_ASSIGN_OR_RETURN(info.offset, reader.u64());
  const int block = dtype_info(info.dtype).block_elements;
  if (info.shape.back() % block != 0) {
    return invalid_argument("rows of {} are not whole {} blocks of {}", info.shape.back(),
                            dtype_name(info.dtype), block);
  }
  const std::vector<uint64_t> factors(info.shape.begin(), info.shape.end());
  const auto elements = checked_product(factors);
  const auto bytes = elements ? dtype_bytes(info.dtype, *elements) : std::nullopt;
  if (!bytes) return invalid_argument("shape {} is too large", shape_string(info.shape));
  info.bytes = *bytes;
  return info;
}

StatusOr<std::vector<TensorInfo>> read_tensor_infos(ByteReader& reader, uint64_t count) {
  std::vector<TensorInfo> infos;
  for (uint64_t i = 0; i < count; ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view name, read_string(reader));
    if (!(1 <= name.size() && name.size() <= kMaxNameBytes)) {
      return invalid_argument("tensor {} has a name of {} bytes; allowed: [1, {}]", i, name.size(),
                              kMaxNameBytes);
    }
    auto info = read_tensor_info(reader);
    if (!info.ok()) return annotate(info.status(), fmt::format("tensor {}", quote_text(name)));
    info->name = name;
    infos.push_back(*std::move(info));
  }
  std::sort(infos.begin(), infos.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.offset, a.name) < std::tie(b.offset, b.name);
  });
  return infos;
}

// Bytes of padding from `offset` to the next multiple of the alignment, a power of two.
uint64_t padding(uint64_t offset, uint64_t alignment) { return -offset & (alignment - 1); }

// Sorted by offset, tensors must fill the data in order, with padding alone between them.
Status check_cover(const std::vector<TensorInfo>& infos, uint64_t alignment, uint64_t data_bytes) {
  uint64_t end = 0;  // of the tensor before
  for (const TensorInfo& info : infos) {
    if (info.offset % alignment != 0) {
      return invalid_argument("tensor {} at offset {} is not aligned to {}", quote_text(info.name),
                              info.offset, alignment);
    }
    if (info.offset > data_bytes || info.bytes > data_bytes - info.offset) {
      return invalid_argument("tensor {} at offset {} needs {} bytes, past the {} bytes of data",
                              quote_text(info.name), info.offset, info.bytes, data_bytes);
    }
    if (info.offset < end) {
      return invalid_argument("tensor {} at offset {} overlaps the one before, which ends at {}",
                              quote_text(info.name), info.offset, end);
    }
    if (info.offset - end != padding(end, alignment)) {
      return invalid_argument("tensor {} at offset {} leaves a gap after {}", quote_text(info.name),
                              info.offset, end);
    }
    end = info.offset + info.bytes;
  }
  if (data_bytes - end > padding(end, alignment)) {
    return invalid_argument("{} bytes after the last tensor", data_bytes - end);
  }
  return ok_status();
}

Status check_version(uint32_t version) {
  if (version == 2 || version == 3) return ok_status();
  const uint32_t swapped = __builtin_bswap32(version);
  if (swapped == 2 || swapped == 3) return unimplemented("big-endian GGUF is not supported");
  return unimplemented("GGUF version {} is not supported; supported: 2, 3", version);
}

StatusOr<uint64_t> read_alignment(const GgufMetadata& metadata) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      const int64_t alignment,
      metadata.integer_or(kAlignmentKey, kDefaultAlignment, 8, kMaxAlignment));
  if (!std::has_single_bit(static_cast<uint64_t>(alignment))) {
    return invalid_argument("{} {} is not a power of two", kAlignmentKey, alignment);
  }
  return static_cast<uint64_t>(alignment);
}

}  // namespace

bool begins_with_gguf_magic(std::span<const std::byte> file) {
  const auto magic = as_bytes(kGgufMagic);
  return file.size() >= magic.size() && std::equal(magic.begin(), magic.end(), file.begin());
}

StatusOr<GgufContents> parse_gguf(std::span<const std::byte> file) {
  ByteReader reader(file.first(std::min<uint64_t>(file.size(), kMaxHeaderBytes)));
  GgufContents out;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view magic, reader.text(kGgufMagic.size()));
  if (magic != kGgufMagic) return invalid_argument("the file does not begin with 'GGUF'");
  LOCKSTEP_ASSIGN_OR_RETURN(out.version, reader.u32());
  LOCKSTEP_RETURN_IF_ERROR(check_version(out.version));
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t tensors, reader.u64());
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t keys, reader.u64());
  LOCKSTEP_RETURN_IF_ERROR(check_count("keys", keys, kMaxKeys, reader, kMinKeyBytes));
  LOCKSTEP_ASSIGN_OR_RETURN(out.metadata, read_metadata(reader, keys));
  LOCKSTEP_ASSIGN_OR_RETURN(out.alignment, read_alignment(out.metadata));
  LOCKSTEP_RETURN_IF_ERROR(
      check_count("tensors", tensors, kMaxTensorsPerFile, reader, kMinTensorBytes));
  LOCKSTEP_ASSIGN_OR_RETURN(auto infos, read_tensor_infos(reader, tensors));

  // A file without tensors may end where its header ends.
  const uint64_t begin = std::min<uint64_t>(
      reader.position() + padding(reader.position(), out.alignment), file.size());
  const auto data = file.subspan(begin);
  LOCKSTEP_RETURN_IF_ERROR(check_cover(infos, out.alignment, data.size()));
  std::vector<NamedTensor> views;
  for (TensorInfo& info : infos) {
    const auto bytes = data.subspan(info.offset, info.bytes);
    views.push_back({std::move(info.name), {info.dtype, std::move(info.shape), bytes}});
  }
  LOCKSTEP_ASSIGN_OR_RETURN(out.tensors, TensorTable::create(std::move(views)));
  return out;
}

}  // namespace lockstep::formats
