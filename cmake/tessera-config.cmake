# The package `tessera`: defines tessera::tessera, the whole library.
include(${CMAKE_CURRENT_LIST_DIR}/TesseraDependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/tessera-targets.cmake)
