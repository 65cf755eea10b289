// All of weft's public interface.
#pragma once

#include <weft/job.h>
#include <weft/port.h>
#include <weft/status.h>
