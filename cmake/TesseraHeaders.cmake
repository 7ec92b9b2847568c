# tessera_public_headers(SOURCE OUT): the headers that users need, relative to SOURCE: tessera/tessera.h, tessera/format.h, those
# that are optional (Eigen, mdspan, DLPack, FFI) and those of privacy and scipy, and what these include, however far away. They are
# followed when the function is called, so no list is kept by hand; the install script includes this file too.
cmake_minimum_required(VERSION 3.25)

function(tessera_public_headers source out)
  set(todo tessera/tessera.h tessera/format.h tessera/eigen.h tessera/mdspan.h tessera/numpy/dlpack.h tessera/ffi/ffi.h
    tessera/privacy/privacy.h
    tessera/scipy/special.h tessera/scipy/stats.h)
  set(headers "")
  foreach(module linalg signal fft ndimage integrate interpolate ode optimize sparse/linalg cluster/vq
          spatial/transform)
    list(APPEND todo tessera/scipy/${module}.h)
  endforeach()
  while(todo)
    list(POP_FRONT todo header)
    if(header IN_LIST headers)
      continue()
    endif()
    list(APPEND headers ${header})
    file(STRINGS ${source}/${header} includes REGEX "^#include [<\"]tessera/")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE "^#include [<\"](tessera/[^>\"]+)[>\"].*" "\\1" header "${line}")
      list(APPEND todo ${header})
    endforeach()
  endwhile()
  set(${out} ${headers} PARENT_SCOPE)
endfunction()
