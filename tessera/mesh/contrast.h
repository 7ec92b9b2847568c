// Contrast: two meshes in one message. Meshes of the same axes print alike; what makes them
// different ones is then said too.
#pragma once

#include <string>

#include "tessera/mesh/mesh.h"

namespace tessera {

// `mesh` as it prints; where `other` has the same number of devices but not the same ones in the
// same order, with its devices: "Mesh('x': 2) of devices 0, 1". Of more than 16, where the first
// difference is: "Mesh('x': 64) with device 40 at position 32".
std::string in_contrast(const Mesh& mesh, const Mesh& other);

}  // namespace tessera
