# Precompiled headers: those of the standard library and of the distribution's packages, and of the project's own only those
# that everything in reach includes, so that an edit recompiles little that it would not have. They save a third of a build.

set(TESSERA_HEADERS <algorithm> <array> <cmath> <complex> <cstdint> <cstring> <functional> <map> <memory> <mutex> <optional> <set>
  <span> <string> <string_view> <tuple> <type_traits> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ostream.h> <fmt/ranges.h>
  <boost/container/small_vector.hpp> <boost/pfr/core.hpp>)

# tessera_precompile(TARGET KIND): KIND `packages` are those of packages, `once` and `often` the same with the definition of an op, for
# sources that are compiled with the one level of optimization or the other: GCC takes no header of another level. The first target
# of a kind makes them.
function(tessera_precompile target kind)
  get_property(owner GLOBAL PROPERTY TESSERA_HEADERS_${kind})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
    return()
  endif()
  set_property(GLOBAL PROPERTY TESSERA_HEADERS_${kind} ${target})
  target_precompile_headers(${target} PRIVATE ${TESSERA_HEADERS})
  if(NOT kind STREQUAL "packages")
    target_precompile_headers(${target} PRIVATE <tessera/ir/array.h> <tessera/ir/format.h> <tessera/ir/op_def.h>)
  endif()
  # What ccache asks for before it caches files that use them.
  target_compile_options(tessera_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# The same for test programs: GoogleTest's too and, for those that use the library as users do, its header. `kind` is base, which
# stands alone, folder or library. An empty program makes them, so that one program of tests does not wait for another.
function(tessera_precompile_tests target kind)
  # Nobody waits for the optimizer over test code.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  set(owner test_headers_${kind})
  if(NOT TARGET ${owner})
    set(source ${PROJECT_BINARY_DIR}/${owner}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
    add_executable(${owner} ${source})
    if(kind STREQUAL "base")
      target_link_libraries(${owner} PRIVATE tessera_base)
    else()
      target_link_libraries(${owner} PRIVATE tessera::tessera evaluate)
    endif()
    target_link_libraries(${owner} PRIVATE GTest::gtest_main GTest::gmock tessera_options)
    target_compile_definitions(${owner} PRIVATE TESSERA_GOLDEN_DIR="${TESSERA_GOLDEN_DIR}")
    target_compile_options(${owner} PRIVATE $<$<CONFIG:Release>:-Og>)
    target_precompile_headers(${owner} PRIVATE ${TESSERA_HEADERS} <random> <gmock/gmock.h> <gtest/gtest.h>)
    if(kind STREQUAL "library")
      target_precompile_headers(${owner} PRIVATE <tessera/tessera.h>)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
