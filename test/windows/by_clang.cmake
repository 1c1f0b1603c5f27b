# Included by CTest, when everything has been configured: each source of `commands`, which are those of `compiler`, makes
# a test that `clang` finds nothing in it to warn of. Only on the command line it meets what it does not know. qd1 is left
# out: it would take as long again, and clang-tidy reads nearly all of it.
file(READ "${commands}" commands)
string(JSON count LENGTH "${commands}")
foreach(i RANGE 1 ${count})
  math(EXPR i "${i} - 1")
  string(JSON source GET "${commands}" ${i} file)
  file(RELATIVE_PATH source "${project}" "${source}")
  if(source MATCHES "(^|/)(benchmark|test/qd1)/")
    continue()
  endif()
  string(JSON directory GET "${commands}" ${i} directory)
  string(JSON command GET "${commands}" ${i} command)
  separate_arguments(arguments UNIX_COMMAND "${command}")
  list(FIND arguments "${compiler}" position) # behind what launches it
  if(position EQUAL -1) # a resource
    continue()
  endif()
  math(EXPR position "${position} + 1")
  list(SUBLIST arguments ${position} -1 arguments)
  list(FIND arguments -include position) # what GCC has precompiled
  while(position GREATER -1)
    math(EXPR behind "${position} + 1")
    list(REMOVE_AT arguments ${position} ${behind})
    list(FIND arguments -include position)
  endwhile()
  list(REMOVE_ITEM arguments -Winvalid-pch)
  list(REMOVE_ITEM arguments -fno-keep-inline-dllexport) # CMake's, for a DLL by GCC
  set(extensions "")
  if(source MATCHES "^test/macros/") # all headers: also with what Microsoft's compiler adds to the language
    set(extensions -fms-extensions)
  endif()
  add_test("by clang/${source}" ${clang} -fsyntax-only ${arguments} ${extensions} -Werror -Wno-unknown-warning-option
    -Wno-unused-command-line-argument)
  set_tests_properties("by clang/${source}" PROPERTIES LABELS windows TIMEOUT 120 WORKING_DIRECTORY "${directory}")
endforeach()
