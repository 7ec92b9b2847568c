# The target `docs`: the reference of the public headers in build/<preset>/reference/html, by Doxygen (scripts/setup installs it).
# What Doxygen warns of is an error.
include(TesseraHeaders)

find_program(TESSERA_DOXYGEN doxygen)
if(NOT TESSERA_DOXYGEN)
  return()
endif()
tessera_public_headers(${PROJECT_SOURCE_DIR} headers)
list(FILTER headers EXCLUDE REGEX "format\\.h$")  # specialisations of fmt's templates
list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/)
set(TESSERA_REFERENCE ${PROJECT_BINARY_DIR}/reference)
list(JOIN headers " " TESSERA_REFERENCE_INPUT)
configure_file(${PROJECT_SOURCE_DIR}/docs/reference/Doxyfile.in ${TESSERA_REFERENCE}/Doxyfile @ONLY)
add_custom_target(docs ${TESSERA_DOXYGEN} ${TESSERA_REFERENCE}/Doxyfile COMMENT "Reference: ${TESSERA_REFERENCE}/html/index.html" VERBATIM)
