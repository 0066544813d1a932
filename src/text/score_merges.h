// The merges behind the scores of a SentencePiece vocabulary, which lists none.
//
// Such a vocabulary merges any two neighbours whose texts together are a token, the token of the
// highest score first and the leftmost among equals. Written out as pairs of ids this is a merge
// table like any other (https://github.com/google/sentencepiece, model type BPE).
//
// Thread rule: pure functions.
#pragma once

#include <vector>

#include "base/status.h"
#include "formats/tokenizer_spec.h"
#include "text/merge_table.h"

namespace lockstep::text {

// invalid_argument unless there is one finite score for each token.
Status check_scores(const formats::TokenizerSpec& spec);

// Of all normal tokens. invalid_argument for scores that are not one finite number a token, for a
// text that two tokens have, and for texts that are too long in all. REQUIRES texts and kinds of
// equal number.
StatusOr<std::vector<RankedMerge>> merges_from_scores(const formats::TokenizerSpec& spec);

}  // namespace lockstep::text
