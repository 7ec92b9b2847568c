# `cmake --install` and the CMake package: find_package(tessera) then target tessera::tessera, from the installed tree as
# from the build tree (which scripts/acceptance and tests/install use).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# tessera_install(<folders>)
function(tessera_install)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
  set(targets tessera tessera_options)
  set_target_properties(tessera_options PROPERTIES EXPORT_NAME options)  # -fsanitize also where the library is linked
  foreach(folder IN LISTS ARGN)
    set_target_properties(tessera_${folder} PROPERTIES EXPORT_NAME ${folder})
    list(APPEND targets tessera_${folder})
  endforeach()
  install(TARGETS ${targets} EXPORT tessera-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(CODE "
include(\"${PROJECT_SOURCE_DIR}/cmake/TesseraHeaders.cmake\")
tessera_public_headers(\"${PROJECT_SOURCE_DIR}\" headers)
foreach(header IN LISTS headers)
  cmake_path(GET header PARENT_PATH folder)
  file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/\${folder}\" TYPE FILE
       FILES \"${PROJECT_SOURCE_DIR}/\${header}\")
endforeach()")
  install(EXPORT tessera-targets NAMESPACE tessera:: DESTINATION ${package})
  export(EXPORT tessera-targets NAMESPACE tessera:: FILE ${PROJECT_BINARY_DIR}/tessera-targets.cmake)

  # A consumer finds the same distribution packages by the same file.
  set(dependencies ${PROJECT_SOURCE_DIR}/cmake/TesseraDependencies.cmake)
  set(config ${PROJECT_SOURCE_DIR}/cmake/tessera-config.cmake)
  set(version ${PROJECT_BINARY_DIR}/tessera-config-version.cmake)
  write_basic_package_version_file(${version} COMPATIBILITY SameMinorVersion)
  foreach(file ${dependencies} ${config})
    configure_file(${file} ${PROJECT_BINARY_DIR} COPYONLY)
  endforeach()
  install(FILES ${dependencies} ${config} ${version} DESTINATION ${package})
endfunction()
