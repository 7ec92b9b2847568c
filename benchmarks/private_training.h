// Steps of private training on the models of models.h, in the ways that privacy_ratios.cc compares:
// the plain step, and what clipping, noise and data that are not finite make of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "training.h"

namespace tessera::bench {

enum class PrivateModel : uint8_t { kMlp256, kMlp1024, kTransformer, kConvNet };
constexpr PrivateModel kPrivateModels[] = {PrivateModel::kMlp256, PrivateModel::kMlp1024,
                                           PrivateModel::kTransformer, PrivateModel::kConvNet};

enum class StepKind : uint8_t {
  kPlain,     // gradient descent on the mean loss
  kClipped,   // on the sum of clipped gradients, without noise
  kGaussian,  // with Gaussian noise
  kDiscrete,  // with integers of the discrete Gaussian on a grid
  kSystem,    // with Gaussian noise by RandomSource::kSystem
  kNotFinite,  // kClipped, with one example that is NaN (of the transformer, whose data are integers:
               // none)
};
constexpr StepKind kStepKinds[] = {StepKind::kPlain,    StepKind::kClipped, StepKind::kGaussian,
                                   StepKind::kDiscrete, StepKind::kSystem,  StepKind::kNotFinite};

std::string name_of(PrivateModel model);
std::string name_of(StepKind kind);
// Whether the model has data that can be NaN, which kNotFinite needs.
bool can_be_not_finite(PrivateModel model);

// Returns a step of the model on one device. Each run goes on from where the last one ended as far
// as noise is concerned; the parameters stay.
Run private_step(PrivateModel model, StepKind kind);

}  // namespace tessera::bench
