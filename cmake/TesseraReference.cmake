# The target `docs`: one site in build/<preset>/site of all pages of docs/ and of the reference of the public headers. Doxygen
# makes the reference, Sphinx with MyST the pages; scripts/setup --dev installs both. It fails on anything that Doxygen or Sphinx
# warns of, and on links that lead nowhere.
include(TesseraHeaders)

find_program(TESSERA_DOXYGEN doxygen)
find_program(TESSERA_SPHINX sphinx-build)
if(NOT TESSERA_DOXYGEN OR NOT TESSERA_SPHINX)
  add_custom_target(docs
    COMMAND ${CMAKE_COMMAND} -E echo "docs: expected doxygen and sphinx-build, found '${TESSERA_DOXYGEN}' and '${TESSERA_SPHINX}'. Run scripts/setup --dev, then cmake --preset <preset>."
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
  return()
endif()

# Sphinx reads a folder of links to what pages are and link to, and the pages that api_pages.py writes.
set(source ${PROJECT_BINARY_DIR}/site_source)
set(site ${PROJECT_BINARY_DIR}/site)
set(config ${PROJECT_SOURCE_DIR}/docs/reference)
file(MAKE_DIRECTORY ${source})
foreach(name README.md CONTRIBUTING.md CHANGELOG.md LICENSE docs tests examples tessera scripts)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${name} ${source}/${name} SYMBOLIC)
endforeach()
file(CREATE_LINK ${config}/index.md ${source}/index.md SYMBOLIC)

tessera_public_headers(${PROJECT_SOURCE_DIR} headers)
list(FILTER headers EXCLUDE REGEX "format\\.h$")  # specialisations of fmt's templates
list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/)
list(JOIN headers " " TESSERA_REFERENCE_INPUT)
set(TESSERA_REFERENCE ${PROJECT_BINARY_DIR}/reference)
set(TESSERA_SITE ${site})
configure_file(${config}/Doxyfile.in ${TESSERA_REFERENCE}/Doxyfile @ONLY)

add_custom_target(docs
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${site} ${source}/api ${TESSERA_REFERENCE}/xml
  COMMAND ${CMAKE_COMMAND} -E make_directory ${site} ${source}/api
  COMMAND ${TESSERA_DOXYGEN} ${TESSERA_REFERENCE}/Doxyfile
  COMMAND python3 ${config}/api_pages.py ${TESSERA_REFERENCE}/xml ${source}/api ../reference
  COMMAND ${TESSERA_SPHINX} -q -W --keep-going -b html -c ${config} -d ${PROJECT_BINARY_DIR}/site_cache ${source} ${site}
  COMMAND python3 ${config}/check_links.py ${site}
  COMMENT "Site: ${site}/index.html" VERBATIM)
