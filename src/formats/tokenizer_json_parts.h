// The parts of tokenizer.json around the model, for tokenizer_json.cc alone: normalizer,
// pre_tokenizer, decoder, post_processor, each into its list of the spec.
#pragma once

#include "base/status.h"
#include "formats/json.h"
#include "formats/tokenizer_spec.h"

namespace lockstep::formats {

// "normalizer 'X' is not supported; supported: ..."
Status unsupported_part(std::string_view path, std::string_view what, std::string_view supported);

Status read_normalizer(const JsonFields& root, TokenizerSpec& spec);
// Sets spec.model to kByteLevelBpe where ByteLevel is the last part. REQUIRES spec.model.
Status read_pre_tokenizer(const JsonFields& root, TokenizerSpec& spec);
Status read_decoder(const JsonFields& root, TokenizerSpec& spec);
Status read_post_processor(const JsonFields& root, TokenizerSpec& spec);

}  // namespace lockstep::formats
