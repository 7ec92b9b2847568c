// The end of compilation: makes a program that is ready to run of the stages of the pipeline, for
// Compiled and for the plugin of JAX.
#pragma once

#include "tessera/compile/pipeline.h"
#include "tessera/engine/engine.h"

namespace tessera::compile {

// Returns the engine that runs a program on this mesh, or on `device` if the mesh is empty. Throws
// UserError [jit] if the mesh is abstract, or if its devices belong to several engines.
const engine::Engine& engine_for(const Mesh& mesh, const Device& device);

// Returns the stage up to which the pipeline must run for the engine.
Stage last_stage(const engine::Engine& engine);

// Returns the program of `function`, ready to run on the devices of its mesh, or on `device` if
// that is empty. `stages` are those of the function up to last_stage().
engine::LoadedProgramRef load_program(const Function& function, const Stages& stages,
                                      const Device& device);

}  // namespace tessera::compile
