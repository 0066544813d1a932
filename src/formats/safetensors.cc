#include "formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/text.h"
#include "formats/json.h"

namespace lockstep::formats {
namespace {

// 2^17 entries of 200 bytes; real headers have a few hundred entries of 120.
constexpr uint64_t kMaxHeaderBytes = uint64_t{25} << 20;
constexpr uint64_t kMaxIndexBytes = uint64_t{128} << 20;
constexpr size_t kMaxDimensions = 8;
constexpr size_t kMaxNameBytes = 1024;
constexpr size_t kMaxShards = 4096;
constexpr std::string_view kMetadataKey = "__metadata__";

struct Entry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

StatusOr<Shape> parse_shape(const JsonFields& fields) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto dimensions, fields.array("shape"));
  if (dimensions.size() > kMaxDimensions) {
    return invalid_argument("shape has {} dimensions; at most {} are allowed", dimensions.size(),
                            kMaxDimensions);
  }
  Shape shape;
  for (const JsonValue& dimension : dimensions) {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t n, json_integer(dimension, "shape", 0, INT64_MAX));
    shape.push_back(n);
  }
  return shape;
}

StatusOr<uint64_t> tensor_bytes(DType dtype, const Shape& shape) {
  const std::vector<uint64_t> factors(shape.begin(), shape.end());
  const auto elements = checked_product(factors);
  const auto bytes = elements ? dtype_bytes(dtype, *elements) : std::nullopt;
  if (!bytes) return invalid_argument("shape {} is too large", shape_string(shape));
  return *bytes;
}

// Everything about an entry that does not need the other entries.
StatusOr<Entry> parse_entry(const JsonValue& value) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(value, ""));
  for (const JsonMember& member : value.if_object()->members()) {
    if (member.key != "dtype" && member.key != "shape" && member.key != "data_offsets") {
      return invalid_argument("unknown key {}; allowed: dtype, shape, data_offsets",
                              quote_text(member.key));
    }
  }
  Entry entry;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string dtype, fields.string("dtype"));
  const auto known = dtype_from_safetensors(dtype);
  if (!known) return invalid_argument("dtype {} is not one this program reads", quote_text(dtype));
  entry.dtype = *known;
  LOCKSTEP_ASSIGN_OR_RETURN(entry.shape, parse_shape(fields));

  LOCKSTEP_ASSIGN_OR_RETURN(const auto offsets, fields.array("data_offsets"));
  if (offsets.size() != 2) return invalid_argument("data_offsets must be [begin, end]");
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t begin,
                            json_integer(offsets[0], "data_offsets[0]", 0, INT64_MAX));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t end,
                            json_integer(offsets[1], "data_offsets[1]", begin, INT64_MAX));
  entry.begin = static_cast<uint64_t>(begin);
  entry.end = static_cast<uint64_t>(end);

  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t bytes, tensor_bytes(entry.dtype, entry.shape));
  if (entry.end - entry.begin != bytes) {
    return invalid_argument("data_offsets [{}, {}] span {} bytes; {} {} needs {}", entry.begin,
                            entry.end, entry.end - entry.begin, dtype_name(entry.dtype),
                            shape_string(entry.shape), bytes);
  }
  return entry;
}

StatusOr<std::map<std::string, std::string>> parse_metadata(const JsonValue& value) {
  LOCKSTEP_RETURN_IF_ERROR(JsonFields::of(value, std::string(kMetadataKey)).status());
  std::map<std::string, std::string> out;
  for (const JsonMember& member : value.if_object()->members()) {
    LOCKSTEP_ASSIGN_OR_RETURN(
        out[member.key],
        json_string(member.value, fmt::format("{}.{}", kMetadataKey, quote_text(member.key))));
  }
  return out;
}

// Sorted by offset, entries must cover [0, data_bytes) exactly.
Status check_cover(const std::vector<Entry>& entries, uint64_t data_bytes) {
  uint64_t expected = 0;
  for (const Entry& entry : entries) {
    if (entry.end > data_bytes) {
      return invalid_argument("tensor {} ends at {}, past the {} bytes of data",
                              quote_text(entry.name), entry.end, data_bytes);
    }
    if (entry.begin != expected) {
      return invalid_argument("tensor {} begins at {}, {} the end of the one before at {}",
                              quote_text(entry.name), entry.begin,
                              entry.begin < expected ? "before" : "with a gap after", expected);
    }
    expected = entry.end;
  }
  if (expected != data_bytes) {
    return invalid_argument("{} bytes after the last tensor", data_bytes - expected);
  }
  return ok_status();
}

StatusOr<std::string_view> read_header(ByteReader& reader) {
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t length, reader.u64());
  const uint64_t most = std::min(reader.remaining(), kMaxHeaderBytes);
  if (!(2 <= length && length <= most)) {
    return invalid_argument("header length {} is outside [2, {}]", length, most);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view header, reader.text(length));
  if (header[0] != '{') return invalid_argument("header does not begin with '{{'");
  return header;
}

bool is_shard_name(std::string_view name) {
  constexpr std::string_view kSuffix = ".safetensors";
  return name.size() > kSuffix.size() && name.size() <= 255 && name.ends_with(kSuffix) &&
         name[0] != '.' && name.find('/') == name.npos && name.find('\0') == name.npos;
}

}  // namespace

StatusOr<SafetensorsContents> parse_safetensors(std::span<const std::byte> file) {
  ByteReader reader(file);
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view header, read_header(reader));
  // An entry is an object of three members and up to 8 + 2 numbers.
  const JsonLimits limits{
      .max_bytes = kMaxHeaderBytes, .max_values = kMaxTensorsPerFile * 14, .max_depth = 4};
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue root, parse_json(header, limits));
  const auto members = root.if_object()->members();
  if (members.size() > kMaxTensorsPerFile) {
    return invalid_argument("{} entries; at most {} are allowed", members.size(),
                            kMaxTensorsPerFile);
  }

  SafetensorsContents out;
  std::vector<Entry> entries;
  for (const JsonMember& member : members) {
    if (member.key == kMetadataKey) {
      LOCKSTEP_ASSIGN_OR_RETURN(out.metadata, parse_metadata(member.value));
      continue;
    }
    if (member.key.size() > kMaxNameBytes) {
      return invalid_argument("tensor name {} is longer than {} bytes", quote_text(member.key),
                              kMaxNameBytes);
    }
    auto entry = parse_entry(member.value);
    if (!entry.ok()) {
      return annotate(entry.status(), fmt::format("tensor {}", quote_text(member.key)));
    }
    entry->name = member.key;
    entries.push_back(*std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  LOCKSTEP_ASSIGN_OR_RETURN(const auto data, reader.bytes(reader.remaining()));
  LOCKSTEP_RETURN_IF_ERROR(check_cover(entries, data.size()));

  std::vector<NamedTensor> tensors;
  for (Entry& entry : entries) {
    const auto bytes = data.subspan(entry.begin, entry.end - entry.begin);
    tensors.push_back({std::move(entry.name), {entry.dtype, std::move(entry.shape), bytes}});
  }
  LOCKSTEP_ASSIGN_OR_RETURN(out.tensors, TensorTable::create(std::move(tensors)));
  return out;
}

StatusOr<std::vector<std::pair<std::string, std::string>>> parse_safetensors_index(
    std::string_view json) {
  const JsonLimits limits{
      .max_bytes = kMaxIndexBytes, .max_values = kMaxTensors + 1024, .max_depth = 8};
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue root, parse_json(json, limits));
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(root, ""));
  LOCKSTEP_RETURN_IF_ERROR(fields.object("weight_map").status());
  const auto members = fields.find("weight_map")->if_object()->members();
  if (!(1 <= members.size() && members.size() <= kMaxTensors)) {
    return invalid_argument("weight_map has {} entries; allowed: [1, {}]", members.size(),
                            kMaxTensors);
  }
  std::vector<std::pair<std::string, std::string>> out;
  for (const JsonMember& member : members) {
    const std::string* shard = member.value.if_string();
    if (shard == nullptr || !is_shard_name(*shard)) {
      return invalid_argument(
          "weight_map places {} in {}; expected the name of a .safetensors file in the same folder",
          quote_text(member.key), member.value.describe());
    }
    out.emplace_back(member.key, *shard);
  }
  return out;
}

Status SafetensorsModel::add_file(const std::string& path, std::vector<NamedTensor>& tensors) {
  LOCKSTEP_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path, kMaxModelFileBytes));
  auto contents = parse_safetensors(file.bytes());
  if (!contents.ok()) {
    return annotate(contents.status(), path.substr(path.rfind('/') + 1));
  }
  files_.push_back(std::move(file));
  for (const NamedTensor& tensor : contents->tensors.tensors()) {
    tensors.push_back(tensor);
    TensorView& view = tensors.back().view;
    const auto address = reinterpret_cast<uintptr_t>(view.bytes.data());
    const auto element = static_cast<uintptr_t>(dtype_info(view.dtype).block_bytes);
    if (address % element == 0 || view.bytes.empty()) continue;
    copies_.push_back(std::make_unique_for_overwrite<std::byte[]>(view.bytes.size()));
    std::memcpy(copies_.back().get(), view.bytes.data(), view.bytes.size());
    view.bytes = std::span(copies_.back().get(), view.bytes.size());
  }
  return ok_status();
}

StatusOr<SafetensorsModel> SafetensorsModel::open_file(const std::string& path) {
  SafetensorsModel out;
  std::vector<NamedTensor> tensors;
  LOCKSTEP_RETURN_IF_ERROR(out.add_file(path, tensors));
  LOCKSTEP_ASSIGN_OR_RETURN(out.tensors_, TensorTable::create(std::move(tensors)));
  return out;
}

StatusOr<SafetensorsModel> SafetensorsModel::open_directory(const std::string& directory) {
  auto single = open_file(directory + "/model.safetensors");
  if (single.ok() || single.status().code() != absl::StatusCode::kNotFound) return single;
  constexpr std::string_view kIndex = "model.safetensors.index.json";
  auto json = read_file(fmt::format("{}/{}", directory, kIndex), kMaxIndexBytes);
  if (json.ok()) {
    auto model = open_index(directory, *json);
    if (!model.ok()) return annotate(model.status(), kIndex);
    return model;
  }
  if (json.status().code() != absl::StatusCode::kNotFound) return json.status();
  return not_found(
      "{} has neither model.safetensors nor {}; weights are read from safetensors alone",
      quote_text(directory), kIndex);
}

// Every tensor lies in the shard that the index says, and the shards hold no others.
StatusOr<SafetensorsModel> SafetensorsModel::open_index(const std::string& directory,
                                                        std::string_view index_json) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto weight_map, parse_safetensors_index(index_json));
  std::map<std::string, std::vector<std::string>> wanted;  // shard -> tensors, sorted
  for (auto& [name, shard] : weight_map) wanted[std::move(shard)].push_back(std::move(name));
  if (wanted.size() > kMaxShards) {
    return invalid_argument("{} shards; at most {} are allowed", wanted.size(), kMaxShards);
  }

  SafetensorsModel out;
  std::vector<NamedTensor> tensors;
  for (auto& [shard, names] : wanted) {
    const size_t first = tensors.size();
    LOCKSTEP_RETURN_IF_ERROR(out.add_file(fmt::format("{}/{}", directory, shard), tensors));
    std::vector<std::string> held;
    for (size_t i = first; i < tensors.size(); ++i) held.push_back(tensors[i].name);
    std::sort(names.begin(), names.end());
    std::sort(held.begin(), held.end());
    const auto [w, h] = std::mismatch(names.begin(), names.end(), held.begin(), held.end());
    if (w == names.end() && h == held.end()) continue;
    const bool missing = h == held.end() || (w != names.end() && *w < *h);
    if (missing)
      return invalid_argument("{} does not hold tensor {}", quote_text(shard), quote_text(*w));
    return invalid_argument("{} holds tensor {}, which the index does not place there",
                            quote_text(shard), quote_text(*h));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(out.tensors_, TensorTable::create(std::move(tensors)));
  return out;
}

uint64_t SafetensorsModel::file_bytes() const {
  uint64_t total = 0;
  for (const MappedFile& file : files_) total += file.bytes().size();
  return total;
}

void SafetensorsModel::release(const TensorView& view) const {
  for (const MappedFile& file : files_) {
    const std::byte* begin = file.bytes().data();
    const std::byte* end = begin + file.bytes().size();
    if (begin <= view.bytes.data() && view.bytes.data() < end) file.advise_dont_need(view.bytes);
  }
}

}  // namespace lockstep::formats
