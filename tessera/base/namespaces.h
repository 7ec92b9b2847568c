// The namespaces of the compiler, in the order of the pipeline. The names that users write are in
// `tessera` and in the namespaces that docs/architecture.md lists. Everything else is in the
// namespace of its folder, which opens the namespaces of folders above it (below); base/ and mesh/
// have none of their own. Public headers qualify the compiler's names with their namespace; source
// files of the users' functions open the lowest namespace that they use.
//
// The namespaces of trace/ and transform/ are `tracing` and `transforms`, because numpy has a
// function trace, and the standard library a function transform.
#pragma once

namespace tessera {

namespace cluster {}  // namespace cluster
namespace ir {}       // namespace ir
namespace ops {
using namespace ir;
}
namespace tracing {
using namespace ops;
}
namespace transforms {
using namespace tracing;
}
namespace control {
using namespace transforms;
}
namespace per_example {
using namespace control;
}
namespace interchange {
using namespace control;
}
namespace sharding {
using namespace tracing;
}
namespace spmd {
using namespace sharding;
}
namespace fusion {
using namespace spmd;
}
namespace codegen {
using namespace fusion;
}
namespace runtime {
using namespace codegen;
}
namespace engine {
using namespace runtime;
using namespace interchange;
}  // namespace engine
namespace compile {
using namespace runtime;
using namespace control;
using namespace interchange;
}  // namespace compile

}  // namespace tessera
