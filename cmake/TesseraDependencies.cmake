# Distribution packages only; scripts/setup installs them. Projects that use an installed Tessera read this file too.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(Boost 1.75 REQUIRED)
find_package(LLVM 19.1 REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/llvm)
# The package's own CMake file insists on OpenCL, which the CPU engine does not need.
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(openblas REQUIRED IMPORTED_TARGET openblas)

# Imported under the names the project links.
if(TARGET LLVM::LLVM)
  return()
endif()
add_library(LLVM::LLVM INTERFACE IMPORTED GLOBAL)
target_include_directories(LLVM::LLVM SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(LLVM::LLVM INTERFACE LLVM)
add_library(DNNL::DNNL INTERFACE IMPORTED GLOBAL)
target_include_directories(DNNL::DNNL SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
target_link_libraries(DNNL::DNNL INTERFACE ${DNNL_LIBRARY})
add_library(OpenBLAS::OpenBLAS ALIAS PkgConfig::openblas)
add_library(libzip::zip ALIAS PkgConfig::libzip)
