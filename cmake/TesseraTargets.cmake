# One CMake target a folder, of whose objects libtessera.so is made; tests mirror the folders. tests/base/layering_test.cc fails on
# an include of a folder that a folder does not name.
add_library(tessera_options INTERFACE)
target_compile_options(tessera_options INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers
  # The standard library's own algorithms use what it deprecates.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
  # g++ 12 reports false positives of these once it inlines moves of boost::container::small_vector.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread -Wno-stringop-overflow -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict>
  # g++ 13 and newer takes each op's definition, a reference into the registry, for one to its argument.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-dangling-reference>)
# What the library's own folders are compiled with.
add_library(tessera_folder_options INTERFACE)
target_link_libraries(tessera_folder_options INTERFACE tessera_options)
if(TESSERA_SANITIZE)
  # If programs are not instrumented, their objects are those of a release build, and ccache has them.
  set(instrumented tessera_folder_options)
  if(TESSERA_SANITIZE_PROGRAMS)
    set(instrumented tessera_options)
  endif()
  target_link_options(tessera_options INTERFACE -fsanitize=${TESSERA_SANITIZE})
  target_compile_options(${instrumented} INTERFACE -fsanitize=${TESSERA_SANITIZE} -fno-omit-frame-pointer
    # GCC sees only one of LLVM's two functions, if it puts the other in line.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>)
  if(TESSERA_SANITIZE MATCHES undefined)
    # The address sanitizer stops at what these find, but for misaligned access; they double the time a file compiles. Machine code
    # calls functions by pointers of another type, which Clang's `function` refuses.
    target_compile_options(${instrumented} INTERFACE -fno-sanitize=null,alignment,vptr,object-size
      $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  endif()
endif()

# What runs once in a compilation, or only calls the ops, is compiled with less optimization: it is most of the code, and nobody
# waits for it at run time. The rest has -O2, loops over data -O3 (tessera_loops).
set(TESSERA_ONCE ir ops trace transform control per_example interchange numpy random scipy io optim nn linen nnx)

# tessera_folder(NAME DEPS <folders or targets> [PRIVATE_DEPS <targets>]): the objects of a folder, which the library is made of.
# The folders of DEPS are those whose headers it may include.
function(tessera_folder name)
  cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE_DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tessera/${name}/*.cc ${PROJECT_SOURCE_DIR}/tessera/${name}/*/*.cc)
  set(deps "")
  foreach(dep IN LISTS ARG_DEPS)
    if(TARGET tessera_${dep})
      list(APPEND deps tessera_${dep})
    else()
      list(APPEND deps ${dep})
    endif()
  endforeach()
  add_library(tessera_${name} OBJECT ${sources})
  target_include_directories(tessera_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(tessera_${name} PUBLIC ${deps} PRIVATE tessera_folder_options ${ARG_PRIVATE_DEPS})
  # The plugin of the wheel takes single objects of io, without the libraries that others of them need.
  if(NOT name STREQUAL io)
    # More sources at a time take less of the processor and more memory. Sources of some folders read large headers (LLVM, oneDNN,
    # Eigen) or make many instances of templates. No object takes more than 700 MB or 12 s (AVX-512, 2026-11-27).
    set(batch 7)
    if(name STREQUAL "privacy")
      set(batch 4)
    elseif(name MATCHES "^(codegen|runtime|scipy)$")
      set(batch 5)
    elseif(name IN_LIST TESSERA_ONCE)
      set(batch 9)
    endif()
    tessera_unity(tessera_${name} ${batch})
  endif()
  # Its sources make so many instances of templates that GCC must collect its garbage earlier to stay below 700 MB.
  if(name STREQUAL "privacy")
    target_compile_options(tessera_privacy PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-expand=30;--param=ggc-min-heapsize=300000>)
  endif()
  # Nothing replaces functions of the library by others of the same name.
  target_compile_options(tessera_${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
  set(headers often)
  set(level -O2)
  if(name MATCHES "^(base|cluster|mesh)$")
    set(headers packages)
  elseif(name IN_LIST TESSERA_ONCE)
    set(headers once)
    set(level -O1)
  endif()
  if(TESSERA_SANITIZE)
    # GCC takes half of the time of -O1 here. Assertions are on.
    set(level -Og -g1 -UNDEBUG)
  endif()
  target_compile_options(tessera_${name} PRIVATE "$<$<CONFIG:Release>:${level}>")
  tessera_precompile(tessera_${name} ${headers})
endfunction()

# tessera_unity(TARGET SIZE): compiles SIZE sources of the target at a time. Headers are read and templates instantiated once for
# all of them. Sources with options of their own are compiled alone.
function(tessera_unity target size)
  if(TESSERA_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()

# tessera_alone(<files>): sources that are not compiled together with others: those that open a namespace whose names are also those
# of functions for users, and those whose class has a member of an unnamed namespace's type.
function(tessera_alone)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/tessera/)
  set_property(SOURCE ${ARGN} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# tessera_loops(<files or patterns>): sources whose loops over elements users wait for.
function(tessera_loops)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/tessera/)
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  set(level -O3)
  if(TESSERA_SANITIZE)
    set(level -Og)
  endif()
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS "$<$<CONFIG:Release>:${level}>")
  set_property(SOURCE ${sources} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# Devices of PJRT plugins need the header of the C API, which plugin/setup fetches; without it c_api_absent.cc says so to those
# who ask for them.
function(tessera_engine_header)
  find_path(TESSERA_PJRT_INCLUDE_DIR xla/pjrt/c/pjrt_c_api.h PATHS ${PROJECT_SOURCE_DIR}/build/pjrt/include NO_DEFAULT_PATH
            NO_CMAKE_FIND_ROOT_PATH)
  set(folder ${PROJECT_SOURCE_DIR}/tessera/engine)
  if(TESSERA_PJRT_INCLUDE_DIR)
    target_include_directories(tessera_engine SYSTEM PRIVATE ${TESSERA_PJRT_INCLUDE_DIR})
    set_source_files_properties(${folder}/c_api_absent.cc PROPERTIES HEADER_FILE_ONLY ON)
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/c_api/*.cc)
    set_source_files_properties(${sources} PROPERTIES HEADER_FILE_ONLY ON)
  endif()
endfunction()

# Handlers of XLA's FFI need its header, which plugin/setup fetches too; without it ffi/c_api_absent.cc says so to those who register
# one.
function(tessera_ffi_header)
  find_path(TESSERA_FFI_INCLUDE_DIR xla/ffi/api/c_api.h PATHS ${PROJECT_SOURCE_DIR}/build/pjrt/include NO_DEFAULT_PATH
            NO_CMAKE_FIND_ROOT_PATH)
  set(folder ${PROJECT_SOURCE_DIR}/tessera/ffi)
  if(TESSERA_FFI_INCLUDE_DIR)
    target_include_directories(tessera_ffi SYSTEM PRIVATE ${TESSERA_FFI_INCLUDE_DIR})
    set_source_files_properties(${folder}/c_api_absent.cc PROPERTIES HEADER_FILE_ONLY ON)
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/c_api/*.cc ${folder}/task_queue.cc)
    set_source_files_properties(${sources} PROPERTIES HEADER_FILE_ONLY ON)
  endif()
endfunction()

# The library that users, tests and tools link: the objects of every folder, whole, since ops register themselves.
function(tessera_public_library)
  add_library(tessera SHARED)
  add_library(tessera::tessera ALIAS tessera)
  list(TRANSFORM ARGN PREPEND tessera_ OUTPUT_VARIABLE objects)
  target_link_libraries(tessera PRIVATE ${objects} tessera_options PUBLIC fmt::fmt Boost::headers Threads::Threads)
  target_include_directories(tessera PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
  target_compile_features(tessera PUBLIC cxx_std_20)
  set_target_properties(tessera PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                        LINKER_LANGUAGE CXX)
  # Calls within the library are direct, and only its own names are seen outside; what it needs is there when it is linked.
  set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_options(tessera PRIVATE -Wl,-Bsymbolic-functions -Wl,--version-script=${exports})
  set_property(TARGET tessera PROPERTY LINK_DEPENDS ${exports})
  if(NOT TESSERA_SANITIZE)  # whose functions only the program has
    target_link_options(tessera PRIVATE -Wl,-z,defs)
  endif()
  set(TESSERA_OBJECTS ${objects} PARENT_SCOPE)
endfunction()

# Names the code generator by its sources, so that kernels on disk are never those of another version of it.
function(tessera_codegen_version)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tessera/codegen/*.cc ${PROJECT_SOURCE_DIR}/tessera/codegen/*.h
       ${PROJECT_SOURCE_DIR}/tessera/codegen/*/*.cc ${PROJECT_SOURCE_DIR}/tessera/codegen/*/*.h
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
