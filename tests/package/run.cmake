# run(COMMAND…): runs it; an error with all it said if it fails, else ${output} has that.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nreturned ${code}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
