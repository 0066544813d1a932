#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::formats;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto spec = parse_tokenizer_json(text);
  if (!spec.ok()) return 0;
  // An accepted spec is whole: every merge and added token names an entry of the table.
  const size_t tokens = spec->token_texts.size();
  if (spec->token_kinds.size() != tokens) __builtin_trap();
  if (spec->merge_results.size() != spec->merges.size()) __builtin_trap();
  for (size_t i = 0; i < spec->merges.size(); ++i) {
    for (const int32_t id :
         {spec->merges[i].first, spec->merges[i].second, spec->merge_results[i]}) {
      if (id < 0 || static_cast<size_t>(id) >= tokens) __builtin_trap();
    }
  }
  for (const SpecialToken& token : spec->specials) {
    if (spec->token_texts.at(static_cast<size_t>(token.id)) != token.text) __builtin_trap();
  }
  static_cast<void>(apply_tokenizer_config(text, *spec));
  return 0;
}
