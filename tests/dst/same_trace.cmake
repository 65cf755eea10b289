# The same seed gives the same run, bit for bit.
foreach(seed IN ITEMS 1 7 42 1234)
  execute_process(COMMAND ${DST} --seed ${seed} --verbose OUTPUT_VARIABLE first RESULT_VARIABLE failed)
  execute_process(COMMAND ${DST} --seed ${seed} --verbose OUTPUT_VARIABLE second)
  if(failed OR NOT first MATCHES "trace [0-9a-f]+" OR NOT first STREQUAL second)
    message(FATAL_ERROR "seed ${seed} differs between two runs:\n${first}\n${second}")
  endif()
endforeach()
