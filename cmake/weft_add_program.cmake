# weft_add_program(name sources... [DOUBLED])
#
# A program that uses weft. DOUBLED: the compiler reports the program's stores, so that memory can be bound with update_way::doubled
# (weft/vmmc.h). That is -fsanitize=thread for the program's own sources, linked with weft's hooks instead of the sanitizer's library.
function(weft_add_program name)
  cmake_parse_arguments(P "DOUBLED" "" "" ${ARGN})
  add_executable(${name} ${P_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE weft::weft)
  if(P_DOUBLED)
    target_compile_options(${name} PRIVATE -fsanitize=thread)
    target_compile_definitions(${name} PRIVATE WEFT_DOUBLED)
    # GCC expands copies in place after it has instrumented; they must stay calls to be seen. Clang makes them calls itself.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${name} PRIVATE -Wno-tsan -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset)
      if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        target_compile_options(${name} PRIVATE -mstringop-strategy=libcall)
      endif()
    endif()
    target_link_libraries(${name} PRIVATE weft::doubled weft::weft)
    target_link_options(${name} PRIVATE -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset)
  endif()
endfunction()
