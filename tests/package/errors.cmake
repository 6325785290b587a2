# What skewer_add_library() says where it is called wrongly. With CALL it makes that call; without, it makes all of them.
cmake_minimum_required(VERSION 3.25)
if(CALL)
  include(${MODULE})
  cmake_path(GET MODULE PARENT_PATH folder)
  include(${folder}/SkewerAddPlugin.cmake)
  cmake_language(EVAL CODE "${CALL}")
  return()
endif()

function(expect call message)
  execute_process(COMMAND ${CMAKE_COMMAND} -DMODULE=${MODULE} -DCALL=${call} -P ${CMAKE_CURRENT_LIST_FILE}
                  RESULT_VARIABLE code ERROR_VARIABLE text OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " text "${text}") # CMake breaks lines
  string(FIND "${text}" "${message}" at)
  if(code EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "${call}\nexpected: ${message}\nfound (code ${code}): ${text}")
  endif()
endfunction()

file(MAKE_DIRECTORY ${FOLDER})
file(WRITE ${FOLDER}/empty.attn "# no kernel here\n")
expect("skewer_add_library(layers)" "skewer_add_library(layers): SPEC is missing; name the .attn file")
expect("skewer_add_library(layers SPEC ${FOLDER}/absent.attn)" "absent.attn' does not exist")
expect("skewer_add_library(layers SPECS a.attn)" "skewer_add_library(layers): unknown arguments: SPECS;a.attn")
expect("skewer_add_library(layers SPEC ${FOLDER}/empty.attn TARGETS zen4 zen4)" "TARGETS 'zen4;zen4' names a processor twice")
file(WRITE ${FOLDER}/two.attn "kernel one(x : f32[4]) -> f32[4] { return x }\nkernel two(x : f32[4]) -> f32[4] { return x }\n")
expect("skewer_add_library(layers SPEC ${FOLDER}/empty.attn)" "no kernel was found in ${FOLDER}/empty.attn")
expect("skewer_add_library(layers SPEC ${FOLDER}/two.attn KERNELS one three)"
       "KERNELS names 'three', which ${FOLDER}/two.attn does not have; it has 'one;two'")
expect("skewer_add_library(layers SPEC ${FOLDER}/two.attn NAMES one)" "NAMES expects OLD=NEW, found 'one'")
expect("skewer_add_library(layers SPEC ${FOLDER}/two.attn KERNELS one NAMES two=2)"
       "NAMES names 'two', which is none of the kernels 'one'")
expect("_skewer_cuda_runtime()" "SKEWER_CUDA_SOURCES is not set; set it to the folder with skewer_cuda.c")
expect("skewer_add_plugin(own)" "skewer_add_plugin(own): SOURCES is missing; name the plugin's .cpp files")
expect("set(CMAKE_CROSSCOMPILING ON)\nskewer_add_library(layers SPEC ${FOLDER}/empty.attn)"
       "skewer_add_library(layers): cross-compiling; name the processor with TARGETS")
