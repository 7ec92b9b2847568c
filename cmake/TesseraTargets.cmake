# One CMake target a folder. A folder sees only the folders it names (and what those name), so a wrong include
# does not link; tests mirror the folders.
add_library(tessera_options INTERFACE)
target_compile_options(tessera_options INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers
  # g++ 12 reports false positives of these once it inlines moves of boost::container::small_vector.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread -Wno-stringop-overflow -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict>)
if(TESSERA_SANITIZE)
  target_compile_options(tessera_options INTERFACE -fsanitize=${TESSERA_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(tessera_options INTERFACE -fsanitize=${TESSERA_SANITIZE})
  if(TESSERA_SANITIZE MATCHES undefined)
    # The address sanitizer stops at what these find, but for misaligned access; they double the time a file compiles.
    target_compile_options(tessera_options INTERFACE -fno-sanitize=null,alignment,vptr)
  endif()
endif()

# Ops register themselves and the transforms install themselves, so all of these archives is linked. Their names are the ones
# that an installed Tessera has too.
set(TESSERA_WHOLE ops transform)

# tessera_folder(NAME DEPS <folders or targets> [PRIVATE_DEPS <targets>])
function(tessera_folder name)
  cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE_DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tessera/${name}/*.cc ${PROJECT_SOURCE_DIR}/tessera/${name}/*/*.cc)
  set(deps "")
  foreach(dep IN LISTS ARG_DEPS)
    if(dep IN_LIST TESSERA_WHOLE)
      list(APPEND deps "$<LINK_LIBRARY:WHOLE_ARCHIVE,tessera::${dep}>")
    elseif(TARGET tessera_${dep})
      list(APPEND deps tessera_${dep})
    else()
      list(APPEND deps ${dep})
    endif()
  endforeach()
  if(sources)
    add_library(tessera_${name} STATIC ${sources})
    target_include_directories(tessera_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
    target_link_libraries(tessera_${name} PUBLIC ${deps} PRIVATE $<BUILD_INTERFACE:tessera_options> ${ARG_PRIVATE_DEPS})
    target_compile_features(tessera_${name} PUBLIC cxx_std_20)
    tessera_precompile(tessera_${name})
  else()
    add_library(tessera_${name} INTERFACE)
    target_include_directories(tessera_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
    target_link_libraries(tessera_${name} INTERFACE ${deps})
  endif()
  add_library(tessera::${name} ALIAS tessera_${name})
endfunction()

# Devices of PJRT plugins need the header of the C API, which plugin/setup fetches; without it c_api_absent.cc says so to those
# who ask for them.
function(tessera_engine_header)
  find_path(TESSERA_PJRT_INCLUDE_DIR xla/pjrt/c/pjrt_c_api.h PATHS ${PROJECT_SOURCE_DIR}/build/pjrt/include NO_DEFAULT_PATH)
  set(folder ${PROJECT_SOURCE_DIR}/tessera/engine)
  if(TESSERA_PJRT_INCLUDE_DIR)
    target_include_directories(tessera_engine SYSTEM PRIVATE ${TESSERA_PJRT_INCLUDE_DIR})
    set_source_files_properties(${folder}/c_api_absent.cc PROPERTIES HEADER_FILE_ONLY ON)
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/c_api/*.cc)
    set_source_files_properties(${sources} PROPERTIES HEADER_FILE_ONLY ON)
  endif()
endfunction()

# The library that users link: every folder.
function(tessera_public_library)
  add_library(tessera INTERFACE)
  add_library(tessera::tessera ALIAS tessera)
  foreach(folder IN LISTS ARGN)
    if(folder IN_LIST TESSERA_WHOLE)
      continue()  # comes with the folders above it, whole
    endif()
    target_link_libraries(tessera INTERFACE tessera_${folder})
  endforeach()
endfunction()

# Names the code generator by its sources, so that kernels on disk are never those of another version of it.
function(tessera_codegen_version)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tessera/codegen/*.cc ${PROJECT_SOURCE_DIR}/tessera/codegen/*.h
       ${PROJECT_SOURCE_DIR}/tessera/fusion/kernel.* ${PROJECT_SOURCE_DIR}/tessera/ir/scalar_op*)
  set(all "")
  foreach(source IN LISTS sources)
    file(SHA256 ${source} hash)
    string(APPEND all ${hash})
  endforeach()
  string(SHA256 version "${all}")
  string(SUBSTRING ${version} 0 16 version)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tessera/codegen/compiler.cc
                              PROPERTIES COMPILE_DEFINITIONS TESSERA_CODEGEN_VERSION="${version}")
endfunction()
