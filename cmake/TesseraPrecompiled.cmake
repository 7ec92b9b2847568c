# Precompiled headers: those of the standard library and of the distribution's packages, never the project's own, so that an
# edit recompiles what includes it and no more. They save a quarter of a build.

# tessera_precompile(TARGET): the headers of nearly every source file. tessera_base makes them, the other folders use its.
function(tessera_precompile target)
  if(target STREQUAL "tessera_base")
    target_precompile_headers(tessera_base PRIVATE <algorithm> <array> <cmath> <complex> <cstdint> <cstring> <functional> <map>
      <memory> <mutex> <optional> <set> <span> <string> <string_view> <tuple> <type_traits> <unordered_map> <utility> <variant>
      <vector> <fmt/format.h> <fmt/ranges.h> <boost/container/small_vector.hpp> <boost/pfr.hpp>)
    # What ccache asks for before it caches files that use them.
    target_compile_options(tessera_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  else()
    target_precompile_headers(${target} REUSE_FROM tessera_base)
  endif()
endfunction()

# The same for test programs: GoogleTest's too. The first program that asks makes them.
function(tessera_precompile_tests target)
  # Nobody waits for the optimizer over test code; position independence must be that of the program that made the headers.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  get_property(owner GLOBAL PROPERTY TESSERA_TEST_HEADERS)
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY TESSERA_TEST_HEADERS ${target})
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <cmath> <complex> <cstdint> <cstring> <functional> <map>
      <memory> <mutex> <optional> <random> <set> <span> <string> <string_view> <tuple> <type_traits> <unordered_map> <utility>
      <variant> <vector> <fmt/format.h> <fmt/ranges.h> <boost/container/small_vector.hpp> <boost/pfr.hpp> <gmock/gmock.h>
      <gtest/gtest.h>)
  endif()
endfunction()
