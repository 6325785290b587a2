# Installs into a prefix: the guides' links hold there, examples run there, and pkg-config tells what a program needs.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILD} --component skewer --prefix ${FOLDER}/prefix)
set(doc ${FOLDER}/prefix/share/doc/skewer)
foreach(file LICENSE copyright README.md CHANGELOG.md docs/README.md docs/integration.md dialect/LANGUAGE.md
             dialect/Schemes/rope.attn examples/README.md examples/rel1d/rel1d.attn
             tools/editors/README.md tools/editors/attn.tmLanguage.json)
  if(NOT EXISTS ${doc}/${file})
    message(FATAL_ERROR "${file} is not installed in share/doc/skewer")
  endif()
endforeach()
foreach(program skewer skewer-opt skewer-lsp-server)
  if(NOT EXISTS ${FOLDER}/prefix/bin/${program})
    message(FATAL_ERROR "${program} is not installed")
  endif()
endforeach()
# Links of the pages: what one names is there.
file(GLOB_RECURSE pages ${doc}/*.md)
set(count 0)
foreach(page IN LISTS pages)
  cmake_path(GET page PARENT_PATH beside)
  file(READ ${page} text)
  string(REGEX REPLACE "\\]\\(" "<link>" text "${text}")
  string(REGEX REPLACE "[][;]" " " text "${text}") # special in CMake's lists
  string(REGEX MATCHALL "<link>[^():# ]+[#)]" links "${text}")
  foreach(link IN LISTS links)
    string(REGEX REPLACE "^<link>|[#)]$" "" link "${link}")
    math(EXPR count "${count} + 1")
    if(NOT EXISTS ${beside}/${link})
      message(FATAL_ERROR "${page} names ${link}, which is not installed")
    endif()
  endforeach()
endforeach()
if(count LESS 100)
  message(FATAL_ERROR "only ${count} links were found in the installed pages")
endif()
run(${FOLDER}/prefix/bin/skewer-lsp-server --help)
if(NOT output MATCHES "--attn" OR output MATCHES "aarch64")
  message(FATAL_ERROR "skewer-lsp-server --help says:\n${output}")
endif()
run(${FOLDER}/prefix/bin/skewer-lsp-server --version)
if(NOT output MATCHES "^skewer-lsp-server ${VERSION}\n")
  message(FATAL_ERROR "skewer-lsp-server --version says:\n${output}")
endif()
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
