// Text for messages about two different meshes. Meshes with the same axes print the same text, so
// the messages also tell which devices differ.
#pragma once

#include <string>

#include "tessera/mesh/mesh.h"

namespace tessera {

// Returns `mesh` as it prints. If `other` has the same number of devices but not the same ones in
// the same order, the devices follow: "Mesh('x': 2) of devices 0, 1". For more than 16 devices only
// the first difference follows: "Mesh('x': 64) with device 40 at position 32".
std::string in_contrast(const Mesh& mesh, const Mesh& other);

}  // namespace tessera
