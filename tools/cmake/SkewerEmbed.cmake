# skewer_embed(VARIABLE NAME.cpp HEADER header TYPE type FUNCTION function FILES pattern): a source file that is made of
# the files of a pattern, with a function, declared in the header, that returns an ArrayRef of {name, text}. VARIABLE
# becomes its path. A file that is added or changed is found by the next build.
set(SKEWER_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/EmbedFiles.cmake)
function(skewer_embed variable output)
  cmake_parse_arguments(ARG "" "HEADER;TYPE;FUNCTION;FILES" "" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS ${ARG_FILES})
  string(REPLACE ";" " " list "${files}")
  set(path ${CMAKE_CURRENT_BINARY_DIR}/${output})
  add_custom_command(OUTPUT ${path}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${path} -DHEADER=${ARG_HEADER} -DTYPE=${ARG_TYPE} -DFUNCTION=${ARG_FUNCTION}
            -DFILES=${list} -P ${SKEWER_EMBED_SCRIPT}
    DEPENDS ${files} ${SKEWER_EMBED_SCRIPT} VERBATIM)
  set(${variable} ${path} PARENT_SCOPE)
endfunction()
