# Included by SimGrid's own CMakeLists.txt (CMAKE_PROJECT_simgrid_INCLUDE) for a quicker build: headers that most files
# include are precompiled (a file of a collective takes 4.4 s of CPU time instead of 8.4 s), and the algorithms of each
# collective, which are about a hundred files together, are compiled in one unit per collective.
function(build_faster)
  foreach(header algorithm cmath boost/intrusive/list.hpp fstream sstream set numeric simgrid/s4u.hpp)
    target_precompile_headers(simgrid PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>")
  endforeach()
  # This file defines a macro with which sysdep.h (included by s4u.hpp) defines logging categories instead of declaring them.
  set_source_files_properties(src/xbt/xbt_misc.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  get_target_property(sources simgrid SOURCES)
  list(FILTER sources INCLUDE REGEX "smpi/colls/[a-z_]+/[^/]+[.]cpp$")
  # Two of the broadcast algorithms have a variable of the same name as a third one.
  list(FILTER sources EXCLUDE REGEX "bcast-(NTSL-Isend|arrival-pattern-aware)[.]cpp$")
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    get_filename_component(collective "${folder}" NAME)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${collective}")
  endforeach()
  set_target_properties(simgrid PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
cmake_language(DEFER CALL build_faster)
