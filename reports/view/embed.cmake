# Writes page_files.cpp: the files of STYLE and of SCRIPT, lists of paths, as raw strings. A string
# literal of 16,000 characters at most, the compiler joins them.
function(literal_of files result)
  set(text "")
  foreach(file IN LISTS files)
    file(READ ${file} content)
    string(LENGTH "${content}" length)
    set(at 0)
    while(at LESS length)
      string(SUBSTRING "${content}" ${at} 16000 piece)
      string(APPEND text "R\"PAGE(${piece})PAGE\"\n")
      math(EXPR at "${at} + 16000")
    endwhile()
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

literal_of("${STYLE}" style)
literal_of("${SCRIPT}" script)
file(
  WRITE ${OUTPUT}
  "#include \"reports/view/page_files.hpp\"\n\nnamespace spillway::view {\n\n"
  "constexpr std::string_view page_style =\n${style};\n"
  "constexpr std::string_view page_script =\n${script};\n\n}  // namespace spillway::view\n")
