# An example as its first comment says: the spec compiled, the C program built with its object alone, and run.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
run(${SKEWER} compile ${SPEC} --target=host -o ${FOLDER})
file(GLOB objects ${FOLDER}/*.o)
run(${C_COMPILER} -std=c99 -pedantic -Wall -Wextra -Werror -O2 -I${FOLDER} ${PROGRAM} ${objects} -lm -o ${FOLDER}/program)
run(${FOLDER}/program)
message(STATUS "${output}")
