// All of weft's public interface.
#pragma once

#include <weft/active.h>
#include <weft/job.h>
#include <weft/port.h>
#include <weft/queue.h>
#include <weft/status.h>
#include <weft/vmmc.h>
