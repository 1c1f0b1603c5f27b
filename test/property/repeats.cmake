# cmake -P repeats.cmake -- <command>...: run twice, it has to succeed and to say the same.
include("${CMAKE_CURRENT_LIST_DIR}/../command_given.cmake")

foreach(time first second)
  execute_process(COMMAND ${command} OUTPUT_VARIABLE ${time} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT first STREQUAL second)
  message(FATAL_ERROR "the first time:\n${first}\nthe second time:\n${second}")
endif()
