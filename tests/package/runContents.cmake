# Installs into a prefix: the guides' links hold there, examples run there, and pkg-config tells what a program needs.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILD} --component skewer --prefix ${FOLDER}/prefix)
set(doc ${FOLDER}/prefix/share/doc/skewer)
foreach(file LICENSE copyright README.md CHANGELOG.md docs/README.md docs/integration.md dialect/LANGUAGE.md
             dialect/Schemes/rope.attn examples/README.md examples/rel1d/rel1d.attn)
  if(NOT EXISTS ${doc}/${file})
    message(FATAL_ERROR "${file} is not installed in share/doc/skewer")
  endif()
endforeach()
foreach(program skewer skewer-opt skewer-lsp-server)
  if(NOT EXISTS ${FOLDER}/prefix/bin/${program})
    message(FATAL_ERROR "${program} is not installed")
  endif()
endforeach()
# Links between the guides: what one names is there.
file(GLOB pages ${doc}/docs/*.md)
foreach(page IN LISTS pages)
  file(READ ${page} text)
  string(REGEX REPLACE "[][]" " " text "${text}") # brackets are special in CMake's lists
  string(REGEX MATCHALL "\\(([a-z]+\\.md)" links "${text}")
  foreach(link IN LISTS links)
    string(REPLACE "(" "" link "${link}")
    if(NOT EXISTS ${doc}/docs/${link})
      message(FATAL_ERROR "${page} names ${link}, which is not installed")
    endif()
  endforeach()
endforeach()
run(${FOLDER}/prefix/bin/skewer run ${doc}/examples/rel1d/rel1d.attn -D N=16)

if(NOT PKG_CONFIG)
  message(STATUS "SKIPPED: no pkg-config on this machine; what it would find was not tried")
  return()
endif()
set(ENV{PKG_CONFIG_PATH} ${FOLDER}/prefix/${LIBDIR}/pkgconfig)
run(${PKG_CONFIG} --modversion skewer)
if(NOT output STREQUAL "${VERSION}\n")
  message(FATAL_ERROR "pkg-config says version ${output}, expected ${VERSION}")
endif()
foreach(variable skewer cudadir includedir)
  run(${PKG_CONFIG} --variable=${variable} skewer)
  string(STRIP "${output}" path)
  if(NOT EXISTS ${path})
    message(FATAL_ERROR "pkg-config says ${variable}=${path}, which does not exist")
  endif()
endforeach()

# A program as somebody with a Makefile builds it.
run(${PKG_CONFIG} --variable=skewer skewer)
string(STRIP "${output}" skewer)
run(${PKG_CONFIG} --cflags skewer)
separate_arguments(cflags UNIX_COMMAND "${output}")
run(${PKG_CONFIG} --libs skewer)
separate_arguments(libs UNIX_COMMAND "${output}")
run(${skewer} compile ${doc}/examples/rel1d/rel1d.attn -D N=16 -o ${FOLDER}/layer)
file(WRITE ${FOLDER}/main.c "#include \"rel1d_attention.h\"
int main(void) {
  rel1d_attention_args args = rel1d_attention_args_init();
  args.batch = 1; /* no tensors: refused, not run */
  skewer_exec exec = skewer_exec_init();
  return rel1d_attention(&args, &exec) == SKEWER_OK;
}
")
run(${C_COMPILER} ${cflags} -I${FOLDER}/layer ${FOLDER}/main.c ${FOLDER}/layer/rel1d_attention.o ${libs} -o ${FOLDER}/main)
run(${FOLDER}/main)
