# weft_add_program(name sources... [DOUBLED] [SIMULATED])
#
# A program that uses weft. DOUBLED: the compiler reports the program's stores, so that memory can be bound with update_way::doubled
# (weft/vmmc.h). That is -fsanitize=thread for the program's own sources, linked with weft's hooks instead of the sanitizer's library.
#
# SIMULATED: the program runs in the simulator, by `weft sim`. The compiler reports all of its references and basic blocks, and the
# program is linked with the simulator. It has one copy of its global variables for all processors, so they should be constant.
function(weft_add_program name)
  cmake_parse_arguments(P "DOUBLED;SIMULATED" "" "" ${ARGN})
  add_executable(${name} ${P_UNPARSED_ARGUMENTS})
  if(P_SIMULATED)
    target_link_libraries(${name} PRIVATE weft::simulated)
    weft_report_references(${name})
    target_compile_options(${name} PRIVATE -fsanitize-coverage=trace-pc)
    target_link_options(${name} PRIVATE -Wl,--wrap=main,--wrap=_ZNSt6chrono3_V212steady_clock3nowEv)
  endif()
  target_link_libraries(${name} PRIVATE weft::weft)
  if(P_DOUBLED)
    weft_report_references(${name})
    target_compile_definitions(${name} PRIVATE WEFT_DOUBLED)
    target_link_libraries(${name} PRIVATE weft::doubled weft::weft)
  endif()
endfunction()

# The compiler calls weft's hooks for the references of a program's own sources.
function(weft_report_references name)
  target_compile_options(${name} PRIVATE -fsanitize=thread)
  # GCC expands copies in place after it has instrumented; they must stay calls to be seen. Clang makes them calls itself.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${name} PRIVATE -Wno-tsan -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      target_compile_options(${name} PRIVATE -mstringop-strategy=libcall)
    endif()
  endif()
  target_link_options(${name} PRIVATE -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset)
endfunction()
