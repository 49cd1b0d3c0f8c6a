# bin/spillway finds its plugins in ../lib/spillway and its data in ../share/spillway.
install(TARGETS spillway RUNTIME DESTINATION bin)
install(TARGETS sim LIBRARY DESTINATION lib/spillway)
foreach(folder IN ITEMS models/library scenarios/machines scenarios/presets scenarios/schemas
                        scenarios/examples)
  get_filename_component(parent ${folder} DIRECTORY)
  install(DIRECTORY ${folder} DESTINATION share/spillway/${parent})
endforeach()
