// All of weft's public interface.
#pragma once

#ifdef WEFT_THREADS_ONLY
#include <weft/detail/threads_only.h>
#else
#include <weft/active.h>
#include <weft/job.h>
#include <weft/memory.h>
#include <weft/port.h>
#include <weft/queue.h>
#include <weft/status.h>
#include <weft/sync.h>
#include <weft/team.h>
#include <weft/vmmc.h>
#endif
