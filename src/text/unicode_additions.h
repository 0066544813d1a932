// Characters that Unicode 15 and 16 added, by property. PCRE2 10.42 knows Unicode 14, Oniguruma 16;
// a tokenizer's words end where the newer one says.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::text {

// As members of a regex class, "\x{1c89}\x{a7cb}-\x{a7cc}"; empty for properties without any, and
// for names other than general categories (one or two letters) and Han, Hiragana, Katakana.
std::string unicode_additions(std::string_view property);

}  // namespace lockstep::text
