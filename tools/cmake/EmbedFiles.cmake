# Writes OUTPUT, a C++ file with a function that returns the name and the text of each of FILES (see SkewerEmbed.cmake):
#   cmake -DOUTPUT=… -DHEADER=… -DTYPE=… -DFUNCTION=… -DFILES="a b" -P EmbedFiles.cmake
set(text "// Generated from files of the source tree. Do not edit.\n#include \"${HEADER}\"\n\n")
string(APPEND text "static const ${TYPE} files[] = {\n")
separate_arguments(FILES UNIX_COMMAND "${FILES}")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME_WLE)
  file(READ "${file}" content)
  string(APPEND text "    {\"${name}\", R\"skewer(${content})skewer\"},\n")
endforeach()
string(APPEND text "};\nllvm::ArrayRef<${TYPE}> ${FUNCTION}() { return files; }\n")
file(WRITE "${OUTPUT}" "${text}")
