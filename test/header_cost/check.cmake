# cmake -DCOMPILER=<compiler> -DFLAGS=<file> -DSOURCE=<file> -DTREE=<directory> -DLIMIT=<bytes, or 0> -P check.cmake:
# see CMakeLists.txt.
execute_process(COMMAND ${COMPILER} "@${FLAGS}" -E "${SOURCE}" RESULT_VARIABLE status OUTPUT_VARIABLE text)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "preprocessing ${SOURCE} failed")
endif()

foreach(header algorithm chrono deque functional iostream locale map random regex sstream unordered_map variant)
  if(text MATCHES "# 1 \"[^\"\n]*/${header}\"")
    message(FATAL_ERROR "qio/qio.hpp includes <${header}>: ${CMAKE_MATCH_0}")
  endif()
endforeach()

# Without the lines that name the files, and without the tree's directory in __FILE__: where the tree is does not matter.
string(REGEX REPLACE "\n# [0-9]+ \"[^\n]*" "" text "${text}")
string(REPLACE "${TREE}/" "" text "${text}")
string(LENGTH "${text}" bytes)
message(STATUS "${bytes} bytes after preprocessing")
if(LIMIT AND bytes GREATER LIMIT)
  message(FATAL_ERROR "qio/qio.hpp preprocesses to ${bytes} bytes; the limit is ${LIMIT}")
endif()
