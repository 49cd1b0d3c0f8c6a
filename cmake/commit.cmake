# cmake -D SOURCE=<source tree> -D FILE=<file> -P commit.cmake
# Writes what `spillway --version` says of the commit; leaves a file alone that says so already.
set(commit "commit not known: built without git")
find_program(git git)
if(git)
  # A source archive may lie inside another project's working tree.
  execute_process(COMMAND ${git} rev-parse --show-toplevel WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(source ${SOURCE} REALPATH)
  if(top STREQUAL source)
    execute_process(COMMAND ${git} log -1 --abbrev=10 "--format=commit %h of %cs"
                    WORKING_DIRECTORY ${SOURCE}
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE)
    # without the lock that another git in this tree may want
    execute_process(COMMAND ${git} --no-optional-locks status --porcelain --untracked-files=no
                    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE changes)
    if(changes)
      string(APPEND commit " with changes")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${FILE} CONTENT "${commit}\n" @ONLY)
