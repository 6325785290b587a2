# The example of threads, copied out of the tree and built as its first comment says: every program whose library is here
# computes the bits of one thread, and CMake says which it skips.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${FOLDER})
file(COPY ${SOURCE}/ DESTINATION ${FOLDER}/source)
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -S ${FOLDER}/source -DSkewer_DIR=${BUILD}/cmake/Skewer -DCMAKE_BUILD_TYPE=Release
              -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER} "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror"
              "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
run(${configure} -B ${FOLDER}/build)
set(programs pool phases)
foreach(program openmp tbb)
  if(NOT output MATCHES "skipped: ${program}, because")
    list(APPEND programs ${program})
  endif()
endforeach()
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
foreach(program IN LISTS programs)
  run(${FOLDER}/build/${program})
  expect("${program}: [25] calls.* on 4 workers, 0 differ from one thread")
endforeach()
message(STATUS "ran: ${programs}")

# Without the libraries, the other programs are built.
run(${configure} -B ${FOLDER}/bare -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON -DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON)
expect("skipped: openmp, because")
expect("skipped: tbb, because")
