# bin/spillway finds its plugins in ../lib/spillway and its data in ../share/spillway, so that the
# folder it is installed in can be moved. A component is a Debian package: packaging.cmake.
install(TARGETS spillway RUNTIME DESTINATION bin COMPONENT spillway)
install(TARGETS evolution sim LIBRARY DESTINATION lib/spillway COMPONENT spillway)
install(TARGETS milp RUNTIME DESTINATION lib/spillway COMPONENT spillway)
if(TARGET cuda)
  install(TARGETS cuda LIBRARY DESTINATION lib/spillway COMPONENT spillway-cuda)
endif()
foreach(folder IN ITEMS models/library scenarios/knobs scenarios/machines scenarios/parts
                        scenarios/presets
                        scenarios/schemas scenarios/examples scenarios/published scenarios/spaces)
  get_filename_component(parent ${folder} DIRECTORY)
  install(DIRECTORY ${folder} DESTINATION share/spillway/${parent} COMPONENT spillway
          PATTERN expected EXCLUDE)
endforeach()
# What the examples of `spillway help` read.
install(DIRECTORY tests/data DESTINATION share/spillway/tests COMPONENT spillway)
install(FILES tests/fidelity/open.json tests/fidelity/beyond.json
        DESTINATION share/spillway/tests/fidelity COMPONENT spillway)
install(FILES ${PROJECT_BINARY_DIR}/share/spillway/commit DESTINATION share/spillway
        COMPONENT spillway)
install(FILES packaging/copyright DESTINATION share/doc/spillway COMPONENT spillway)
if(TARGET cuda)
  install(FILES packaging/copyright DESTINATION share/doc/spillway-cuda COMPONENT spillway-cuda)
endif()

if(TARGET spillway-gui)
  install(TARGETS spillway-gui RUNTIME DESTINATION bin COMPONENT spillway-gui)
  install(FILES packaging/desktop/spillway-gui.desktop DESTINATION share/applications
          COMPONENT spillway-gui)
  install(FILES packaging/desktop/io.spillway.Spillway.metainfo.xml DESTINATION share/metainfo
          COMPONENT spillway-gui)
  install(FILES packaging/desktop/spillway-mime.xml DESTINATION share/mime/packages
          COMPONENT spillway-gui)
  install(FILES packaging/desktop/spillway.svg DESTINATION share/icons/hicolor/scalable/apps
          COMPONENT spillway-gui)
  install(FILES packaging/copyright DESTINATION share/doc/spillway-gui COMPONENT spillway-gui)
endif()

# Manual pages and completions are what the program itself says of its options.
install(
  CODE [[
    set(share "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share")
    set(zsh "${share}/zsh/site-functions")
    if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND EXISTS /etc/debian_version)
      set(zsh "${share}/zsh/vendor-completions") # what Debian's zsh reads of packages
    endif()
    foreach(made IN ITEMS "man|${share}/man/man1" "zsh|${zsh}"
                          "bash|${share}/bash-completion/completions"
                          "fish|${share}/fish/vendor_completions.d")
      string(REPLACE "|" ";" words "${made}")
      execute_process(COMMAND "$<TARGET_FILE:spillway>" generate ${words}
                      COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    file(GLOB pages "${share}/man/man1/spillway*.1")
    execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
  ]]
  COMPONENT spillway)
