# Finds what Skewer is made from and sets the flags that every target shares.
include(GNUInstallDirs)

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(fmt REQUIRED)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

separate_arguments(SKEWER_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_library(SkewerFlags INTERFACE)
target_include_directories(SkewerFlags SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_include_directories(SkewerFlags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_definitions(SkewerFlags INTERFACE ${SKEWER_LLVM_DEFINITIONS})
# MLIR itself is built without exceptions; type information stays on, as in Debian's build.
target_compile_options(SkewerFlags INTERFACE -fno-exceptions -Wall -Wextra -Wno-unused-parameter)

# How everything that includes MLIR is compiled. MLIR's templates instantiate many small functions that run once: of
# eight files with a low threshold of inlining, a tenth less time is spent in the compiler.
add_library(SkewerMlirFlags INTERFACE)
target_link_libraries(SkewerMlirFlags INTERFACE SkewerFlags fmt::fmt)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(SkewerMlirFlags INTERFACE -fpch-instantiate-templates "SHELL:-mllvm -inline-threshold=25")
endif()

# One precompiled header for all of it: 16 s a file become 2 s.
add_library(SkewerPrecompiled STATIC ${CMAKE_SOURCE_DIR}/tools/cmake/Precompiled.cpp)
target_link_libraries(SkewerPrecompiled PRIVATE SkewerMlirFlags)
target_precompile_headers(SkewerPrecompiled PRIVATE ${CMAKE_SOURCE_DIR}/tools/cmake/Precompiled.h)
add_dependencies(SkewerPrecompiled AttnIncGen AttnReductionsIncGen AttnInterfacesIncGen)

find_program(SKEWER_CCACHE ccache)
if(SKEWER_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${SKEWER_CCACHE})
endif()
