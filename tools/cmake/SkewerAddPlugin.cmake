# Plugins of one's own: skewer_add_plugin().
include_guard(GLOBAL)

#[[
skewer_add_plugin(NAME SOURCES file.cpp …)

A shared object NAME.so for `skewer … --load-dialect-plugin=` or `--load-pass-plugin=`. It needs the headers of the MLIR
that Skewer was built with, and links neither MLIR nor Skewer: both are the program's that loads it, and a second copy
would have type identifiers of its own.
]]
function(skewer_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "skewer_add_plugin(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "skewer_add_plugin(${name}): SOURCES is missing; name the plugin's .cpp files")
  endif()
  find_package(MLIR ${SKEWER_MLIR_VERSION} REQUIRED CONFIG HINTS ${SKEWER_MLIR_DIR})
  add_library(${name} MODULE ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so")
  target_compile_features(${name} PRIVATE cxx_std_17)
  target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_include_directories(${name} PRIVATE ${SKEWER_INCLUDE_DIRS})
endfunction()
