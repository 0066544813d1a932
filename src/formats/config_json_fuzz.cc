#include <cstddef>
#include <cstdint>

#include "formats/config_json.h"
#include "formats/generation_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::formats;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = parse_config_json(text);
  if (config.ok() && !check_model_config(*config).ok()) __builtin_trap();
  if (config.ok()) canonical_json(*config);
  static_cast<void>(parse_generation_config(text));
  return 0;
}
