// What `weft bench vmmc` prints and draws beside the ratios.
#pragma once

#include <string>

#include "bench/harness/report.h"

namespace weft::bench {

// StarT-JR's Tables 2 and 3 for typed active messages, and a table for each question of SHRIMP's section 4 and of Telegraphos.
std::string vmmc_text(const report& r);

// Writes automatic-by-size.svg, automatic-by-sparseness.svg, combining.svg, queue-depth.svg and senders.svg.
void write_vmmc_plots(const report& r, const std::string& folder);

}  // namespace weft::bench
