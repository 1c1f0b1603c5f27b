# cmake -P repeats.cmake -- <command>...: runs the command twice. It must succeed and print the same text.
include("${CMAKE_CURRENT_LIST_DIR}/../command_given.cmake")

foreach(time first second)
  execute_process(COMMAND ${command} OUTPUT_VARIABLE ${time} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT first STREQUAL second)
  message(FATAL_ERROR "the first run:\n${first}\nthe second run:\n${second}")
endif()
