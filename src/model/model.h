// A model on a device: weights bound, state declared, forward as plain code over the seam. Families
// are wired in families/; model.cc maps a config's family to its builder.
//
// Thread rule: as the device. Ownership: holds its plans; the device must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/state_layout.h"
#include "base/status.h"
#include "base/vocabulary.h"
#include "device/device.h"
#include "formats/checkpoint.h"

namespace lockstep::model {

struct BuildOptions {
  int max_rows = 512;        // most rows of a step
  int max_logit_rows = 512;  // most rows of a step that reach the head
};

class Model {
 public:
  virtual ~Model() = default;

  Vocabulary vocabulary() const { return vocabulary_; }
  const StateLayout& state_layout() const { return layout_; }
  int max_positions() const { return max_positions_; }
  const BuildOptions& options() const { return options_; }
  int64_t weight_bytes() const { return weight_bytes_; }  // read by one decode row

  // Queues one whole step, begin_step() done by the caller; logits go to logits(). REQUIRES
  // step.rows() <= max_rows and step.logit_rows() <= max_logit_rows.
  virtual void forward(const device::StepView& step, device::PagePool& pool) = 0;

  // [max_logit_rows, V]; row j belongs to StepInput::logit_rows[j].
  virtual const device::Buffer& logits() const = 0;
  virtual device::View logits_view() = 0;

 protected:
  Model(Vocabulary vocabulary, BuildOptions options) : vocabulary_(vocabulary), options_(options) {}
  StateLayout layout_;
  int max_positions_ = 0;
  int64_t weight_bytes_ = 0;

 private:
  Vocabulary vocabulary_;
  BuildOptions options_;
};

// Binds every tensor by name and shape, releasing each one's mapped pages once prepared. Errors
// name the tensor, its shape and the shape expected; a tensor of the file that no layer binds is
// refused.
StatusOr<std::unique_ptr<Model>> build_model(const formats::Checkpoint& checkpoint,
                                             device::Device& device, const BuildOptions& options);

// The profile a checkpoint runs with unless told otherwise: by the types of its tensors alone.
StatusOr<Arithmetic> default_arithmetic(const formats::Checkpoint& checkpoint);

}  // namespace lockstep::model
