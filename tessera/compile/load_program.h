// The end of compilation: turns the stages of the pipeline into a program that is ready to run, for
// Compiled and for JAX's plugin.
#pragma once

#include "tessera/compile/pipeline.h"
#include "tessera/engine/engine.h"

namespace tessera::compile {

// Returns the engine that runs a program on this mesh, or on `device` if the mesh is empty. Throws
// UserError [jit] if the mesh is abstract, or if its devices belong to several engines.
const engine::Engine& engine_for(const Mesh& mesh, const Device& device);

// Returns the stage up to which the pipeline must run for the engine.
Stage last_stage(const engine::Engine& engine);

// Returns what a program takes or returns as `values` of `f`: arrays with these shardings (one for
// each value), or on `device` if there are none.
std::vector<ArraySpec> array_specs(const Function& f, const std::vector<ValueId>& values,
                                   const std::vector<NamedSharding>& shardings,
                                   const Device& device);

// Returns the program of `function`, ready to run on the devices of its mesh, or on `device` if the
// mesh is empty. `stages` is the result of run_pipeline for the function, up to last_stage().
engine::LoadedProgramRef load_program(const Function& function, const Stages& stages,
                                      const Device& device);

}  // namespace tessera::compile
