# cmake -DCASE=<file> -P check.cmake -- <compiler> <argument>...: see CMakeLists.txt.
include("${CMAKE_CURRENT_LIST_DIR}/../command_given.cmake")

file(STRINGS "${CASE}" expect REGEX "^// expect: " LIMIT_COUNT 1)
string(REGEX REPLACE "^// expect: " "" expect "${expect}")
if(expect STREQUAL "")
  message(FATAL_ERROR "${CASE} has no line `// expect: <regex>`")
endif()

execute_process(COMMAND ${command} -DQIO_CONTROL RESULT_VARIABLE status ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the control, without the mistake, does not compile:\n${output}")
endif()

execute_process(COMMAND ${command} RESULT_VARIABLE status ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "the mistake compiles")
endif()
if(NOT output MATCHES "${expect}")
  message(FATAL_ERROR "the mistake does not compile, but the message does not match /${expect}/:\n${output}")
endif()
