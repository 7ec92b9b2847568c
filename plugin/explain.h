// The plan of a program, for Python (tessera_jax.explain): what the plugin would communicate, and
// why, without compiling or running the program. This is not part of PJRT's C API.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::plugin {

// Returns the plan of `code` (StableHLO as text, bytecode or portable artifact) as JSON:
//
//   {"devices": "tpu_v4:2x2x1", "mesh": {"axes": [["x", 4]], "device_ids": [0, 1, 2, 3]},
//    "inputs": [{"dtype": "float32", "shape": [8, 4], "spec": "P('x', None)"}], "outputs": ...,
//    "collectives": [...], "notes": [...], "cost": {...}, "steps": 3, "text": "..."}
//
// mesh is null for programs of one device; the fields of collectives, notes and cost are those of
// tessera/spmd/collective.h and Cost (tessera/compile/lowered.h). `devices` is a specification
// (tessera/mesh/device.h) of the devices to plan for; position i of the mesh is device i. If it is
// empty, the plan is for the devices of the process if there are enough, otherwise for as many CPU
// devices as needed. Throws UserError for programs that Tessera rejects, and for too few devices.
std::string explain(std::string_view code, const std::string& devices);

}  // namespace tessera::plugin

// Calls explain() for other languages. Returns 0 and the JSON in *out, or 1 and the error's text.
// The caller frees *out by tessera_free.
extern "C" __attribute__((visibility("default"))) int tessera_explain(const char* code, size_t size,
                                                                      const char* devices,
                                                                      char** out);
extern "C" __attribute__((visibility("default"))) void tessera_free(char* text);
