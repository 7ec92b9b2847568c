# The package `tessera`: defines tessera::tessera, the library. Its headers include those of Boost, and tessera/format.h those of fmt;
# everything else that it is made of is linked into libtessera.so.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(Boost 1.75 CONFIG)
include(${CMAKE_CURRENT_LIST_DIR}/tessera-targets.cmake)
