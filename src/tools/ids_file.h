// --ids FILE.json: [[ids], ...], the door through which token ids enter a command.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/vocabulary.h"

namespace lockstep::tools {

// Every list, each with at least one id, every id admitted. invalid_argument or out_of_range naming
// the list and the token.
StatusOr<std::vector<std::vector<TokenId>>> read_ids_file(const std::string& path,
                                                          const Vocabulary& vocabulary);

// The same from the file's text.
StatusOr<std::vector<std::vector<TokenId>>> parse_ids(std::string_view json,
                                                      const Vocabulary& vocabulary);

}  // namespace lockstep::tools
