# Runs `weft bench fabric --quick` and looks whether every key that it promises is there as a positive number. What the numbers are is
# not a test's business: they depend on what else the machine does.
execute_process(COMMAND ${WEFT} bench fabric --quick --fabric shm,udp --json ${OUT} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "weft bench fabric ended with status ${status}")
endif()
file(READ ${OUT} text)
foreach(key IN ITEMS
    shm.put_one_way_over_cache_line shm.round_trip_over_cache_line shm.put_bandwidth_over_memcpy
    udp.round_trip_over_socket udp.bandwidth_over_socket udp.goodput_at_5_percent_loss
    shm.enqueue_per_second shm.send_overhead_ns)
  string(JSON value ERROR_VARIABLE problem GET "${text}" ratios ${key})
  if(problem)
    message(FATAL_ERROR "there is no ratio ${key}: ${problem}")
  endif()
  if(NOT value GREATER 0)
    message(FATAL_ERROR "${key} is ${value}")
  endif()
endforeach()
