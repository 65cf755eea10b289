// The plots of `weft bench fabric`: latency, bandwidth and message rate by size, all fabrics and peers in each.
#pragma once

#include <string>

#include "cli/bench/report.h"

namespace weft::cli::bench {

// Both throw weft::error.
void make_folder(const std::string& folder);

// Writes latency.svg, bandwidth.svg and message-rate.svg.
void write_plots(const report& r, const std::string& folder);

}  // namespace weft::cli::bench
