# cmake -DHEADERS=<header>... -DEXPECT=<regex> -P refused.cmake -- <compiler> <argument>...: see CMakeLists.txt. After the
# one #error comes the fatal error that ends the compilation.
include("${CMAKE_CURRENT_LIST_DIR}/../command_given.cmake")
foreach(header IN LISTS HEADERS)
  execute_process(COMMAND ${command} -include ${header} RESULT_VARIABLE status ERROR_VARIABLE output)
  if(status EQUAL 0)
    message(FATAL_ERROR "${header} compiles")
  endif()
  string(REGEX MATCHALL "[^\n]*[0-9]: (fatal )?error: [^\n]*" errors "${output}")
  list(LENGTH errors count)
  if(NOT count EQUAL 2 OR NOT errors MATCHES "^[^\n;]*: error: [^\n;]*${EXPECT}")
    message(FATAL_ERROR "${header} gives ${count} errors, not one #error that says \"${EXPECT}\", and the end:\n${output}")
  endif()
endforeach()
