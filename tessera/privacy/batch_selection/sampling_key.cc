#include "tessera/privacy/batch_selection/sampling_key.h"

namespace tessera::privacy::batch_selection {

SamplingKey SamplingKey::of_system() {
  return SamplingKey(privacy::internal::SecretKey::of_cluster("a key of batches"));
}

}  // namespace tessera::privacy::batch_selection
