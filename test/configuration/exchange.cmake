# cmake -DFLAGS=<argument>... -DWITHOUT=<regex> -DWITH=<regex> -DNM=<nm> -DDIRECTORY=<directory> -DSOURCES=<directory>
#   -P exchange.cmake -- <compiler> <argument>...: see CMakeLists.txt.
include("${CMAKE_CURRENT_LIST_DIR}/../command_given.cmake")
file(MAKE_DIRECTORY "${DIRECTORY}")

foreach(unit provider user)
  execute_process(COMMAND ${command} -c "${SOURCES}/${unit}.cpp" -o "${DIRECTORY}/${unit}.o" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${command} ${FLAGS} -c "${SOURCES}/provider.cpp" -o "${DIRECTORY}/other.o" COMMAND_ERROR_IS_FATAL ANY)

# link(<status> <output> <object>)
function(link status output object)
  execute_process(COMMAND ${command} "${DIRECTORY}/user.o" "${DIRECTORY}/${object}.o" -o "${DIRECTORY}/${object}.out"
    RESULT_VARIABLE result ERROR_VARIABLE text)
  set(${status} ${result} PARENT_SCOPE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

link(status output provider)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the control, two units of one configuration, does not link:\n${output}")
endif()
link(status output other)
if(status EQUAL 0)
  message(FATAL_ERROR "two units of different configurations link")
endif()
# The linker names the missing symbols, with the configuration of the unit that refers to them. nm lists the existing
# ones.
execute_process(COMMAND ${NM} -C --defined-only "${DIRECTORY}/other.o" OUTPUT_VARIABLE defined COMMAND_ERROR_IS_FATAL ANY)
foreach(what "by_parameter\\([^\n]*" "by_return\\[abi:[^\n]*" "by_variable\\[abi:[^\n]*")
  if(NOT output MATCHES "${what}${WITHOUT}")
    message(FATAL_ERROR "the linker does not miss ${what}${WITHOUT}:\n${output}")
  endif()
  if(NOT defined MATCHES "${what}${WITH}")
    message(FATAL_ERROR "nm does not show ${what}${WITH}:\n${defined}")
  endif()
endforeach()
