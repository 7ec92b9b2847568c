cmake_minimum_required(VERSION 3.25)

# The headers that users need: tessera/tessera.h and tessera/format.h, and what these include, however far away. Followed when
# the tree is installed, so that the list is never kept by hand and never out of date. The install script includes this file and
# sets TESSERA_SOURCE and TESSERA_INCLUDEDIR.
set(todo tessera/tessera.h tessera/format.h)
set(headers "")
while(todo)
  list(POP_FRONT todo header)
  if(header IN_LIST headers)
    continue()
  endif()
  list(APPEND headers ${header})
  file(STRINGS ${TESSERA_SOURCE}/${header} includes REGEX "^#include [<\"]tessera/")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE "^#include [<\"](tessera/[^>\"]+)[>\"].*" "\\1" header "${line}")
    list(APPEND todo ${header})
  endforeach()
endwhile()
foreach(header IN LISTS headers)
  cmake_path(GET header PARENT_PATH folder)
  file(INSTALL DESTINATION "${TESSERA_INCLUDEDIR}/${folder}" TYPE FILE FILES "${TESSERA_SOURCE}/${header}")
endforeach()
