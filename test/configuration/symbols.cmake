# cmake -DNM=<nm> -DOBJECT=<file> -P symbols.cmake: fails if a symbol of qio's that others would share (not local to the
# object) lacks the configuration.
execute_process(COMMAND ${NM} --defined-only --extern-only "${OBJECT}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]*3qio[^\n]*" of_qio "${symbols}")
if(of_qio STREQUAL "")
  message(FATAL_ERROR "${OBJECT} has no symbols of qio")
endif()
list(FILTER of_qio EXCLUDE REGEX "3qio[0-9]+v[0-9]+_[0-9]+_[0-9]+_")
# Shared on purpose: the copies' handlers of SIGBUS recognize each other (system/posix/guarded_copy.hpp).
list(FILTER of_qio EXCLUDE REGEX "3qio18bus_error_handlers")
if(of_qio)
  list(JOIN of_qio "\n" lines)
  message(FATAL_ERROR "without the configuration in their names:\n${lines}")
endif()
