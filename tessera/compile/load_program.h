// From the stages of the pipeline to a program that is ready to run: the end of compilation, for
// Compiled and for the plugin of JAX.
#pragma once

#include "tessera/compile/pipeline.h"
#include "tessera/engine/engine.h"

namespace tessera::compile {

// Returns the engine that runs a program of this mesh, or if the mesh is empty, one on `device`.
// UserError [jit] if the mesh is abstract, or its devices are of several engines.
const engine::Engine& engine_for(const Mesh& mesh, const Device& device);

// Returns the stage up to which the pipeline must run for the engine.
Stage last_stage(const engine::Engine& engine);

// Returns the program of `function`, of which these are the stages up to that one, ready to run on
// the devices of its mesh; if that is empty, on `device`.
engine::LoadedProgramRef load_program(const Function& function, const Stages& stages,
                                      const Device& device);

}  // namespace tessera::compile
