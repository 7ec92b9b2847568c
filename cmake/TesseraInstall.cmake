# `cmake --install`, the CMake package and the pkg-config file: find_package(tessera) then target tessera::tessera, from the
# installed tree as from the build tree (which scripts/acceptance and tests/install use). Components are those of the packages
# (TesseraPackages.cmake): runtime, mpi, development, tools.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

function(tessera_install)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
  set_target_properties(tessera PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS tessera EXPORT tessera-targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
  install(CODE "
include(\"${PROJECT_SOURCE_DIR}/cmake/TesseraHeaders.cmake\")
tessera_public_headers(\"${PROJECT_SOURCE_DIR}\" headers)
foreach(header IN LISTS headers)
  cmake_path(GET header PARENT_PATH folder)
  file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/\${folder}\" TYPE FILE
       FILES \"${PROJECT_SOURCE_DIR}/\${header}\")
endforeach()" COMPONENT development)
  install(EXPORT tessera-targets NAMESPACE tessera:: DESTINATION ${package} COMPONENT development)
  export(EXPORT tessera-targets NAMESPACE tessera:: FILE ${PROJECT_BINARY_DIR}/tessera-targets.cmake)

  set(config ${PROJECT_SOURCE_DIR}/cmake/tessera-config.cmake)
  set(version ${PROJECT_BINARY_DIR}/tessera-config-version.cmake)
  write_basic_package_version_file(${version} COMPATIBILITY SameMinorVersion)
  configure_file(${config} ${PROJECT_BINARY_DIR} COPYONLY)
  install(FILES ${config} ${version} DESTINATION ${package} COMPONENT development)

  # Relative to the file, so that the installed tree can be moved.
  file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tessera.pc.in ${PROJECT_BINARY_DIR}/tessera.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()
