# The reference pages that are generated from .td files: docs/reference/*.md. The target `skewer-docs` writes them; the
# build writes them next to its other outputs too, and the tests compare (tests/CMakeLists.txt), so that none goes stale.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(SKEWER_REFERENCE_PAGES "")
set(generated_pages "")

# skewer_reference_page(PAGE file.td option… [FINISH script.py])
function(skewer_reference_page page source)
  cmake_parse_arguments(PARSE_ARGV 2 given "" "FINISH" "")
  set(output ${CMAKE_BINARY_DIR}/docs/reference/${page})
  file(GLOB dependencies CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/dialect/IR/*.td ${CMAKE_SOURCE_DIR}/passes/*.td
    ${CMAKE_SOURCE_DIR}/passes/Fusion/*.td)
  set(finish "")
  if(given_FINISH)
    set(finish COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/${given_FINISH} ${output})
    file(GLOB examples CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/passes/*.mlir)
    list(APPEND dependencies ${CMAKE_SOURCE_DIR}/${given_FINISH} ${examples})
  endif()
  add_custom_command(OUTPUT ${output}
    COMMAND ${MLIR_TABLEGEN_EXE} ${given_UNPARSED_ARGUMENTS} -I ${CMAKE_SOURCE_DIR} -I ${MLIR_INCLUDE_DIR} ${CMAKE_SOURCE_DIR}/${source} -o ${output}
    ${finish}
    DEPENDS ${dependencies} COMMENT "Writing docs/reference/${page}" VERBATIM)
  set(generated_pages ${generated_pages} ${output} PARENT_SCOPE)
  set(SKEWER_REFERENCE_PAGES ${SKEWER_REFERENCE_PAGES} ${page} PARENT_SCOPE)
endfunction()

list(GET MLIR_INCLUDE_DIRS 0 MLIR_INCLUDE_DIR)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/docs/reference)
skewer_reference_page(attn-ops.md dialect/IR/AttnOps.td -gen-dialect-doc -dialect=attn)
skewer_reference_page(attn-reductions.md dialect/IR/Reductions.td -gen-op-doc -dialect=attn)
skewer_reference_page(attn-plan.md dialect/IR/PlanAttributes.td -gen-attrdef-doc -dialect=attn)
skewer_reference_page(attn-interfaces.md dialect/IR/AttnInterfaces.td -gen-op-interface-docs)
skewer_reference_page(passes.md passes/Passes.td -gen-pass-doc FINISH tools/site/pass_examples.py)

add_custom_target(skewer-docs-generated ALL DEPENDS ${generated_pages})
add_custom_target(skewer-docs
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_SOURCE_DIR}/docs/reference
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${generated_pages} ${CMAKE_SOURCE_DIR}/docs/reference
  COMMENT "Updating docs/reference" VERBATIM)
add_dependencies(skewer-docs skewer-docs-generated)
set_property(GLOBAL PROPERTY SKEWER_REFERENCE_PAGES "${SKEWER_REFERENCE_PAGES}")
