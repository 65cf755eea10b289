# What `cmake --install` puts in place: the program, the library and its headers, and how other projects find them.
include(CMakePackageConfigHelpers)

install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(WEFT_APPS)
  install(TARGETS weft-bench weft-papers RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS weft_all weft_doubled weft_simulated EXPORT weft_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} PATTERN README.md EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weft_targets NAMESPACE weft:: FILE weft_targets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/weftConfig.cmake.in ${PROJECT_BINARY_DIR}/weftConfig.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/weft_add_program.cmake cmake/weft_add_parmacs_program.cmake
  ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake DESTINATION ${package_dir})

file(RELATIVE_PATH weft_pc_up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)  # found wherever the tree was put
foreach(name IN ITEMS weft weft-c)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
