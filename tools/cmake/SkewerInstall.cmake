# What an installed Skewer has beside programs and CMake's files: guides, examples, licences, a file for pkg-config; and the
# packages that CPack makes of all of it (cpack -G DEB).
# `ninja skewer-installation` builds all that is installed, and `tools/bootstrap install` installs it too.
add_custom_target(skewer-installation)
add_dependencies(skewer-installation skewer skewer-opt skewer-lsp-server libskewer)
set(skewer_doc ${CMAKE_INSTALL_DATADIR}/doc/skewer)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${skewer_doc} COMPONENT skewer)
# Folders stand as in the tree: the links between pages hold.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs ${CMAKE_SOURCE_DIR}/examples DESTINATION ${skewer_doc} COMPONENT skewer)
install(FILES ${CMAKE_SOURCE_DIR}/dialect/LANGUAGE.md ${CMAKE_SOURCE_DIR}/dialect/SPEC.md
        DESTINATION ${skewer_doc}/dialect COMPONENT skewer)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/dialect/Schemes DESTINATION ${skewer_doc}/dialect COMPONENT skewer)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tools/editors DESTINATION ${skewer_doc}/tools COMPONENT skewer)
# What the guides name besides.
install(FILES ${CMAKE_SOURCE_DIR}/tests/bench/README.md ${CMAKE_SOURCE_DIR}/tests/bench/RESULTS.md
              ${CMAKE_SOURCE_DIR}/tests/bench/RESULTS-archive.md
        DESTINATION ${skewer_doc}/tests/bench COMPONENT skewer)
install(FILES ${CMAKE_SOURCE_DIR}/tests/fuzz/README.md DESTINATION ${skewer_doc}/tests/fuzz COMPONENT skewer)
install(FILES ${CMAKE_SOURCE_DIR}/tools/libskewer/skewer.h DESTINATION ${skewer_doc}/tools/libskewer COMPONENT skewer)
install(FILES ${CMAKE_SOURCE_DIR}/passes/Cpu/Strategy.h DESTINATION ${skewer_doc}/passes/Cpu COMPONENT skewer)
install(CODE "include(\"${CMAKE_CURRENT_LIST_DIR}/DeadLinks.cmake\")
  skewer_without_dead_links(\"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${skewer_doc}\")" COMPONENT skewer)
# Debian's name for who wrote what under which licence; elsewhere it does no harm.
install(FILES ${CMAKE_CURRENT_LIST_DIR}/copyright DESTINATION ${skewer_doc} COMPONENT skewer)

# pkg-config: the flags of programs that link compiled kernels, and where the compiler is; those of the compiler as a
# library.
file(RELATIVE_PATH skewer_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name skewer libskewer)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/skewer.pc ${CMAKE_BINARY_DIR}/libskewer.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT skewer)

set(CPACK_PACKAGE_NAME skewer)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "Skewer")
set(CPACK_PACKAGE_CONTACT "Skewer developers <skewer@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler for attention layers with positions")
set(CPACK_PACKAGE_DESCRIPTION "Attention layers with positional schemes, written as einsums, become objects with a C header, for x86-64\n and NVIDIA GPUs. With the compiler come its guides, examples and what CMake and pkg-config find.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};Skewer;skewer;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # libMLIR, libLLVM, libfmt and the C libraries, by what the programs are linked to
# Plugins and cubins need more than kernels do.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "clang-22, cmake, libmlir-22-dev, lld-22, pkg-config")
include(CPack)
