#include "cli/sim/sweep.h"

#include "base/text.h"
#include "charts/bars.h"
#include "charts/document.h"
#include "charts/table.h"

namespace weft::simulator {

std::vector<simulation> combinations(const std::map<std::string, std::string>& options, const std::vector<std::string>& words) {
  std::vector<simulation> all{{"", words, {}}};
  for (const auto& [name, text] : options) {
    if (text.empty()) continue;
    const auto values = base::split(text, ',');
    std::vector<simulation> more;
    for (const auto& one : all)
      for (const auto& value : values) {
        simulation s = one;
        s.settings[name] = value;
        if (values.size() > 1) s.name += (s.name.empty() ? "" : ", ") + name + " " + value;
        more.push_back(std::move(s));
      }
    all = std::move(more);
  }
  return all;
}

std::string page_of(const std::string& title, const std::vector<simulation>& all, const std::vector<outcome>& outcomes) {
  charts::document d(title);
  d.paragraph("Simulated by weft sim. A bar is the time of one processor, on the average, and where it went.");
  charts::bars b("Time", "seconds", {std::begin(parts_of_time), std::end(parts_of_time)});
  charts::table t(
      {{"", charts::table::holds::words}, {"cycles"}, {"seconds"}, {"references"}, {"misses"}, {"messages"}, {"bytes"}});
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& r = outcomes[i].report;
    std::vector<double> parts;
    const double cycle = r["seconds"].get<double>() / std::max(1.0, r["cycles"].get<double>()) / r["processors"].get<double>();
    for (const char* part : parts_of_time) parts.push_back(r["breakdown"][part].get<double>() * cycle);
    b.add(all[i].name, parts);
    std::vector<std::string> row{all[i].name};
    for (const char* column : {"cycles", "seconds", "references", "misses", "messages", "bytes"}) row.push_back(r[column].dump());
    t.row(row);
  }
  d.add(b.svg());
  d.add(t.html());
  return d.html();
}

}  // namespace weft::simulator
