// The properties of each DpEvent that PLD accounting needs: whether its privacy loss is known, how
// much noise it adds, and the loss itself. Every function is a switch over all events of
// dp_event.h; pld.h calls them.
#pragma once

#include <string>

#include "tessera/privacy/accounting/dp_event.h"
#include "tessera/privacy/accounting/privacy_loss.h"
#include "tessera/privacy/neighboring_relation.h"

namespace tessera::privacy::accounting::internal {

// Returns why the loss of an event that is not a composition is not known; an empty text if it is.
std::string unknown_loss(const DpEvent& leaf, NeighboringRelation relation);

// Returns the noise multiplier, or the noise parameter, of an event whose loss is known. Returns 0
// if the event publishes the data, and infinity if it reveals nothing of them.
double noise_of(const DpEvent& leaf);

// Returns whether the event is a Gaussian mechanism of noise_of(leaf) on all of the data of both
// neighbours.
bool is_gaussian(const DpEvent& leaf, NeighboringRelation relation);

// Returns the loss of an event whose loss is known and whose noise is neither 0 nor infinite.
// Losses of a probability of exp(log_tail) on either side are truncated (privacy_loss.h).
PrivacyLoss loss_of(const DpEvent& leaf, NeighboringRelation relation, double log_tail);

// Returns the loss of a Gaussian mechanism on all of the data, as loss_of() does.
PrivacyLoss gaussian_loss_under(NeighboringRelation relation, double noise_multiplier,
                                double log_tail);

}  // namespace tessera::privacy::accounting::internal
