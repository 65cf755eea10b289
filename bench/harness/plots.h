// The plots of `weft bench fabric`: latency, bandwidth and message rate by size, all fabrics and peers in each.
#pragma once

#include <filesystem>
#include <string>

#include "bench/harness/report.h"
#include "charts/plot.h"

namespace weft::bench {

using charts::plot;

// The axes of measurements: sizes and the like count in powers of two, values in powers of ten.
plot::axis sizes(std::string label, plot::counts what = plot::counts::bytes);
plot::axis values(std::string label);

// All that write throw weft::error.
void make_folder(const std::string& folder);
void write_plot(const std::filesystem::path& path, const plot& p, const report& r);

// Adds a line if there is anything of it.
void add_line(plot& p, const std::string& title, const measurements& m, const std::string& owner, const std::string& name,
              double scale, plot::style how = plot::style::solid);

// Writes latency.svg, bandwidth.svg and message-rate.svg.
void write_plots(const report& r, const std::string& folder);

}  // namespace weft::bench
