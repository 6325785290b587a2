# run(COMMAND…) runs a command. If it fails, that is an error with all that it said; otherwise ${output} has that.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nreturned ${code}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# expect(TEXT) demands that the last command said something that the regular expression TEXT matches.
function(expect text)
  if(NOT output MATCHES "${text}")
    message(FATAL_ERROR "expected '${text}' in:\n${output}")
  endif()
endfunction()
