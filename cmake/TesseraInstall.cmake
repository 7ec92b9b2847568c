# `cmake --install` and the CMake package: find_package(tessera) then target tessera::tessera, from the installed tree as
# from the build tree (which scripts/acceptance and tests/install use).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

function(tessera_install)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
  install(TARGETS tessera EXPORT tessera-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
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

  set(config ${PROJECT_SOURCE_DIR}/cmake/tessera-config.cmake)
  set(version ${PROJECT_BINARY_DIR}/tessera-config-version.cmake)
  write_basic_package_version_file(${version} COMPATIBILITY SameMinorVersion)
  configure_file(${config} ${PROJECT_BINARY_DIR} COPYONLY)
  install(FILES ${config} ${version} DESTINATION ${package})
endfunction()
