# weft_layer(name FOLDER folder [FOLDERS subfolders ...] BELOW ... LIBRARIES ... [APART])
#
# One folder of src/ is one layer and one target. BELOW names the layers it may use; nothing else is on its link line, so a
# unit test that links one layer fails to link when that layer reaches upward. The include direction is checked by the lint test. A layer
# that is APART is no part of the library that programs link.
function(weft_layer name)
  cmake_parse_arguments(L "APART" "FOLDER" "FOLDERS;BELOW;LIBRARIES" ${ARGN})
  set(sources)
  foreach(folder IN LISTS L_FOLDER L_FOLDERS)
    file(GLOB some CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
    list(APPEND sources ${some})
  endforeach()
  if(NOT sources)  # a layer that is headers only
    file(CONFIGURE OUTPUT ${name}.cpp CONTENT "")
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  endif()
  add_library(weft_${name} STATIC ${sources})
  target_include_directories(weft_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_link_libraries(weft_${name} PRIVATE weft_options PUBLIC Threads::Threads ${L_LIBRARIES})
  foreach(layer IN LISTS L_BELOW)
    target_link_libraries(weft_${name} PUBLIC weft_${layer})
  endforeach()
  target_precompile_headers(weft_${name} REUSE_FROM weft_headers)
  if(NOT L_APART)
    set_property(GLOBAL APPEND PROPERTY WEFT_LAYERS weft_${name})
  endif()
endfunction()
