// The distributions and statistics of jax.scipy.stats.
#pragma once
