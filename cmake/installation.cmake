# bin/spillway finds its plugins in ../lib/spillway and its data in ../share/spillway.
install(TARGETS spillway RUNTIME DESTINATION bin)
install(TARGETS cluster evolution milp sim LIBRARY DESTINATION lib/spillway)
if(TARGET cuda)
  install(TARGETS cuda LIBRARY DESTINATION lib/spillway)
endif()
foreach(folder IN ITEMS models/library scenarios/knobs scenarios/machines scenarios/parts
                        scenarios/presets
                        scenarios/schemas scenarios/examples scenarios/published scenarios/spaces)
  get_filename_component(parent ${folder} DIRECTORY)
  install(DIRECTORY ${folder} DESTINATION share/spillway/${parent})
endforeach()
install(FILES tests/fidelity/open.json DESTINATION share/spillway/tests/fidelity)
