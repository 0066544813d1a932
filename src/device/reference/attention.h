// One query head's attention, as docs/numerics.md writes it.
#pragma once

#include <span>
#include <vector>

#include "base/profile.h"
#include "device/device.h"
#include "device/reference/pages.h"

namespace lockstep::device::reference {

struct AttentionHead {
  const ReferencePages& pages;
  StateLayer layer;
  int kv_head;
  std::span<const PageId> table;
  int position;
  KvType kv;
  const AttendSpec& spec;
};

// q [k_head_size], out [v_head_size].
void attend_head(const AttentionHead& head, const float* q, float* out);

// What a K or V element becomes when it is appended.
float round_to_kv(KvType type, float x);

}  // namespace lockstep::device::reference
