# Kernels at build time: skewer_add_library().
include_guard(GLOBAL)
cmake_policy(PUSH)
cmake_policy(SET CMP0116 NEW) # Ninja reads the compiler's dependency files with paths as they are

#[[
skewer_add_library(TARGET
  SPEC file.attn            the layer; .mlir of the attn dialect is taken too
  [PARAMS NAME=VALUE …]     values of the spec's compile-time sizes
  [TARGETS name …]          what to make code for: processors and NVIDIA GPUs (sm_80); default: host, the machine that
                            builds. Of several processors, the kernel chooses when it runs: an object for each, and one with
                            the entries. GPUs add the entries NAME_cuda() and the launcher, skewer_cuda_runtime
  [PTX_ONLY]                GPUs: no cubins, so that no ptxas is needed; the GPU's driver compiles the code
  [KERNELS name …]          the spec's kernels; default: read from its text
  [EMIT kind …]             further files, as `skewer compile --emit`
  [PLUGINS plugin …]        plugins that the spec needs: targets of skewer_add_plugin(), or files
  [HEADER variable])        set to the list of the kernels' headers

A static library TARGET with every kernel of the spec, its headers' folder, libm and for GPUs the launcher. Rebuilt when the spec, the schemes it
uses or the compiler change. Uses the compiler of the package, or of SKEWER_EXECUTABLE where that is set (the host's
compiler, when cross-compiling; TARGETS must then name the processor).
]]
function(skewer_add_library target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "PTX_ONLY" "SPEC;HEADER" "PARAMS;TARGETS;KERNELS;EMIT;PLUGINS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "skewer_add_library(${target}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SPEC)
    message(FATAL_ERROR "skewer_add_library(${target}): SPEC is missing; name the .attn file")
  endif()
  cmake_path(ABSOLUTE_PATH ARG_SPEC BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE spec)
  if(NOT EXISTS ${spec})
    message(FATAL_ERROR "skewer_add_library(${target}): SPEC '${spec}' does not exist")
  endif()
  if(NOT ARG_TARGETS)
    set(ARG_TARGETS host)
  endif()
  set(processors ${ARG_TARGETS})
  list(FILTER processors EXCLUDE REGEX "^sm_")
  set(gpus ${ARG_TARGETS})
  list(FILTER gpus INCLUDE REGEX "^sm_")
  list(LENGTH processors processor_count)
  list(REMOVE_DUPLICATES processors)
  list(LENGTH processors different)
  if(NOT processor_count EQUAL different)
    message(FATAL_ERROR "skewer_add_library(${target}): TARGETS '${ARG_TARGETS}' names a processor twice")
  endif()
  if(CMAKE_CROSSCOMPILING AND "host" IN_LIST processors)
    message(FATAL_ERROR "skewer_add_library(${target}): cross-compiling; name the processor with TARGETS")
  endif()

  if(NOT ARG_KERNELS)
    _skewer_kernels_of(${spec} ARG_KERNELS)
    if(NOT ARG_KERNELS)
      message(FATAL_ERROR "skewer_add_library(${target}): no kernel was found in ${spec}; name them with KERNELS")
    endif()
  endif()

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.skewer)
  set(objects "")
  set(headers "")
  set(others "")
  foreach(kernel IN LISTS ARG_KERNELS)
    list(APPEND objects ${folder}/${kernel}.o)
    if(processor_count GREATER 1)
      foreach(processor IN LISTS processors)
        list(APPEND objects ${folder}/${kernel}.${processor}.o)
      endforeach()
    endif()
    list(APPEND headers ${folder}/${kernel}.h)
    list(APPEND others ${folder}/${kernel}.json)
  endforeach()
  list(JOIN ARG_TARGETS "," target_names)
  set(options "")
  foreach(parameter IN LISTS ARG_PARAMS)
    list(APPEND options -D ${parameter})
  endforeach()
  if(ARG_EMIT)
    list(JOIN ARG_EMIT "," kinds)
    list(APPEND options --emit=${kinds})
  endif()
  if(ARG_PTX_ONLY)
    list(APPEND options --ptx-only)
  endif()
  set(plugins "")
  foreach(plugin IN LISTS ARG_PLUGINS)
    if(TARGET ${plugin})
      set(plugin $<TARGET_FILE:${plugin}>)
    else()
      cmake_path(ABSOLUTE_PATH plugin BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    endif()
    list(APPEND options --load-dialect-plugin=${plugin})
    list(APPEND plugins ${plugin})
  endforeach()
  if(SKEWER_EXECUTABLE)
    set(compiler ${SKEWER_EXECUTABLE})
    set(compiler_file ${SKEWER_EXECUTABLE})
  else()
    set(compiler Skewer::skewer)
    set(compiler_file $<TARGET_FILE:Skewer::skewer>)
  endif()
  add_custom_command(
    OUTPUT ${objects} ${headers} ${others}
    COMMAND ${compiler} compile ${spec} ${options} --target=${target_names} -o ${folder} --depfile=${folder}/${target}.d
    DEPENDS ${spec} ${compiler_file} ${plugins}
    DEPFILE ${folder}/${target}.d
    COMMENT "Compiling the kernels of ${target} for ${target_names}"
    VERBATIM)
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)

  add_library(${target} STATIC ${objects} ${headers} ${others})
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("C" IN_LIST languages)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  else()
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${folder}>)
  target_link_libraries(${target} INTERFACE m)
  if(gpus)
    _skewer_cuda_runtime()
    target_link_libraries(${target} INTERFACE skewer_cuda_runtime)
  endif()
  if(ARG_HEADER)
    set(${ARG_HEADER} ${headers} PARENT_SCOPE)
  endif()
endfunction()

# The launcher of GPU kernels, once a project: a static library of C files that opens CUDA's driver when it is needed.
function(_skewer_cuda_runtime)
  if(TARGET skewer_cuda_runtime)
    return()
  endif()
  if(NOT SKEWER_CUDA_SOURCES)
    message(FATAL_ERROR "skewer_add_library: SKEWER_CUDA_SOURCES is not set; set it to the folder with skewer_cuda.c (share/skewer/cuda)")
  endif()
  set(names skewer_cuda.c skewer_cuda_arguments.c skewer_cuda_driver.c skewer_cuda_module.c)
  list(TRANSFORM names PREPEND "${SKEWER_CUDA_SOURCES}/" OUTPUT_VARIABLE sources)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "C" IN_LIST languages) # they are C++ too
    set_source_files_properties(${sources} PROPERTIES LANGUAGE CXX)
  endif()
  add_library(skewer_cuda_runtime STATIC ${sources})
  set_target_properties(skewer_cuda_runtime PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(skewer_cuda_runtime PUBLIC ${CMAKE_DL_LIBS})
endfunction()

# The names of the kernels that a spec defines, read from its text at configure time: the build must know its outputs.
function(_skewer_kernels_of spec result)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${spec})
  set(name "[A-Za-z_][A-Za-z0-9_]*")
  if(spec MATCHES "\\.mlir$")
    set(before "func\\.func +(public +)?@")
  else()
    set(before "kernel[ \t]+")
  endif()
  file(READ ${spec} text)
  string(REGEX MATCHALL "\n[ \t]*${before}${name}" definitions "\n${text}")
  list(TRANSFORM definitions REPLACE "\n[ \t]*${before}" "" OUTPUT_VARIABLE kernels)
  set(${result} ${kernels} PARENT_SCOPE)
endfunction()
cmake_policy(POP)
