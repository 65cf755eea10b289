#include <filesystem>
#include <string_view>

#include "bench/harness/plots.h"
#include "bench/vmmc/vmmc_report.h"

namespace weft::bench {
namespace {

struct line_of {
  const char *name, *title;
  plot::style how = plot::style::solid;
};

// One line for each fabric and measurement.
plot lines(const report& r, const char* title, const char* x, const char* y, double scale, std::initializer_list<line_of> what) {
  const bool bytes = std::string_view(x).find("bytes") != std::string_view::npos;
  plot p(title, sizes(x, bytes ? plot::counts::bytes : plot::counts::things), values(y));
  for (const auto& f : r.fabrics)
    for (const auto& w : what) add_line(p, f.owner + ", " + w.title, r.found, f.owner, w.name, scale, w.how);
  return p;
}

}  // namespace

void write_vmmc_plots(const report& r, const std::string& folder) {
  using enum plot::style;
  const std::filesystem::path to(folder);
  write_plot(to / "automatic-by-size.svg",
             lines(r, "A block computed and there, by automatic and deliberate update", "bytes", "microseconds", 1e-3,
                   {{"auto_block", "automatic"}, {"deliberate_block", "deliberate", dashed}}),
             r);
  write_plot(
      to / "automatic-by-sparseness.svg",
      lines(r, "Words of 1 MiB written and there, by their distance", "one word of so many", "microseconds", 1e-3,
            {{"auto_sparse", "automatic"}, {"gathered_sparse", "gathered", dashed}, {"whole_sparse", "whole region", dotted}}),
      r);
  write_plot(to / "combining.svg",
             lines(r, "A block by tracked pages, with and without combining", "bytes", "microseconds", 1e-3,
                   {{"combined_block", "combined"}, {"uncombined_block", "not combined", dashed}}),
             r);
  write_plot(to / "queue-depth.svg",
             lines(r, "Queued deliberate updates, by the depth of the queue", "bytes in one update", "GB/s", 1,
                   {{"queued_1", "depth 1", dotted}, {"queued_2", "depth 2", dashed}, {"queued_8", "depth 8"}}),
             r);
  write_plot(to / "senders.svg",
             lines(r, "Telling one node of arrivals, by the number of senders", "senders", "nanoseconds a word", 1,
                   {{"enqueue_word", "enqueue"},
                    {"fetch_add_put_word", "fetch_add and put", dashed},
                    {"flag_word", "flags", dotted},
                    {"locked_word", "lock", dotted}}),
             r);
}

}  // namespace weft::bench
