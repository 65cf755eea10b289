#include "cli/top/frame.h"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "charts/svg.h"
#include "space/region.h"
#include "insight/roll_call.h"
#include "join/words.h"

namespace weft::cli::top {
namespace {

using base::format;
using nlohmann::json;

constexpr std::size_t most_pages = 6, most_locks = 4;

// What happened between two samples of a node.
struct rates {
  bool known = false;
  double faults = 0, fetched = 0, changed = 0, out = 0, messages = 0;  // a second
  double share[6] = {};                                                // of its threads' time
  double watching = 0;                                                 // of it: what being looked at costs
};

rates between(const json& before, const json& now, double seconds) {
  rates r;
  const auto grown = [&](const char* count) {
    return (now.at("counts").at(count).get<double>() - before.at("counts").at(count).get<double>()) / seconds;
  };
  r.known = true;
  r.faults = grown("read_faults") + grown("write_faults");
  r.fetched = grown("fetched_pages") * dsm::page_bytes;
  r.changed = grown("diff_bytes");
  r.out = grown("bytes_out");
  r.messages = grown("messages");
  double all = 0;
  for (std::size_t i = 0; i < 6; ++i)
    all += r.share[i] = now.at("time").at(i).get<double>() - before.at("time").at(i).get<double>();
  for (auto& s : r.share) s = all > 0 ? 100 * s / all : 0;
  if (all > 0) r.watching = 100 * (now.at("watching").get<double>() - before.at("watching").get<double>()) / all;
  return r;
}

json parsed(const std::optional<control::sample>& s) {
  return s ? json::parse(s->text, nullptr, false) : json();
}

struct heat {
  double grown = 0, seconds = 0;
  std::vector<std::uint32_t> nodes;
};

// The pages of all nodes by how much more they cost than a second ago.
void add_pages(std::vector<std::string>& lines, const std::vector<json>& before, const std::vector<json>& now, double seconds) {
  std::map<std::uint64_t, heat> pages;
  for (std::uint32_t n = 0; n < now.size(); ++n) {
    std::map<std::uint64_t, double> had;
    for (const auto& p : before[n].at("pages")) had[p.at(0).get<std::uint64_t>()] = p.at(1).get<double>();
    for (const auto& p : now[n].at("pages")) {
      const double grown = p.at(1).get<double>() - had[p.at(0).get<std::uint64_t>()];
      if (grown <= 0) continue;
      auto& h = pages[p.at(0).get<std::uint64_t>()];
      h.grown += grown;
      h.nodes.push_back(n);
    }
  }
  std::vector<std::pair<std::uint64_t, heat>> order(pages.begin(), pages.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second.grown > b.second.grown; });
  order.resize(std::min(order.size(), most_pages));
  if (!order.empty()) lines.push_back("hottest pages                faults, fetches and writes a second");
  for (const auto& [page, h] : order)
    lines.push_back(format("  %-26s %8.0f  %s",
                           format("%p", static_cast<void*>(runtime::region_base + page * dsm::page_bytes)).c_str(),
                           h.grown / seconds, runtime::name_nodes(h.nodes).c_str()));
}

void add_locks(std::vector<std::string>& lines, const std::vector<json>& before, const std::vector<json>& now, double seconds) {
  std::map<std::string, heat> locks;
  for (std::uint32_t n = 0; n < now.size(); ++n) {
    std::map<std::string, std::pair<double, double>> had;
    for (const auto& l : before[n].at("locks")) had[l.at(0).get<std::string>()] = {l.at(1).get<double>(), l.at(2).get<double>()};
    for (const auto& l : now[n].at("locks")) {
      const auto& [waits, waited] = had[l.at(0).get<std::string>()];
      if (l.at(1).get<double>() <= waits) continue;
      auto& h = locks[l.at(0).get<std::string>()];
      h.grown += l.at(1).get<double>() - waits;
      h.seconds += l.at(2).get<double>() - waited;
      h.nodes.push_back(n);
    }
  }
  std::vector<std::pair<std::string, heat>> order(locks.begin(), locks.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  order.resize(std::min(order.size(), most_locks));
  if (!order.empty()) lines.push_back("hottest locks                operations a second, seconds in them a second");
  for (const auto& [name, h] : order)
    lines.push_back(format("  %-26s %8.0f %6.2f  %s", name.c_str(), h.grown / seconds, h.seconds / seconds,
                           runtime::name_nodes(h.nodes).c_str()));
}

// Who waits for whom, as the roll-call tells it.
void add_waits(std::vector<std::string>& lines, const samples& now) {
  std::vector<runtime::roll_answer> answers;
  for (std::uint32_t n = 0; n < now.size(); ++n) {
    runtime::roll_answer a{n, {}, "does not answer"};
    if (now[n]) {
      const auto m = control::decode(base::byte_view(now[n]->here).subspan(std::min(now[n]->here.size(), control::header_bytes)));
      if (const auto* here = m ? std::get_if<control::presence>(&*m) : nullptr) a.here = *here;
    }
    answers.push_back(std::move(a));
  }
  lines.push_back("who waits for whom");
  for (const auto& line : runtime::tell_roll(answers)) lines.push_back("  " + line);
}

}  // namespace

std::vector<std::string> frame(const samples& before, const samples& now, double seconds, std::size_t height) {
  std::vector<std::string> lines;
  std::vector<json> first, second;
  lines.push_back("");
  lines.push_back(
      "node  compute  fetch   lock  barrier handler protocol |  faults/s   fetched/s   changes/s       out/s  messages/s");
  std::string setting = "no node has answered yet";
  double watching = 0;
  for (std::size_t n = 0; n < now.size(); ++n) {
    const auto a = n < before.size() ? parsed(before[n]) : json(), b = parsed(now[n]);
    if (!a.is_object() || !b.is_object()) {
      lines.push_back(format("%4zu  does not answer", n));
      continue;
    }
    setting = b.at("protocol").get<std::string>() + " on " + b.at("fabric").get<std::string>() +
              format(", %.0f s", b.at("uptime").get<double>());
    const auto r = between(a, b, seconds);
    watching = std::max(watching, r.watching);
    const auto size = [](double bytes) { return charts::size_words(bytes); };
    lines.push_back(format("%4zu %7.1f%% %5.1f%% %5.1f%% %7.1f%% %6.1f%% %7.1f%% | %9.0f %11s %11s %11s %11.0f", n, r.share[0],
                           r.share[1], r.share[2], r.share[3], r.share[4], r.share[5], r.faults, size(r.fetched).c_str(),
                           size(r.changed).c_str(), size(r.out).c_str(), r.messages));
    first.push_back(a);
    second.push_back(b);
  }
  lines[0] = format("weft top: %zu nodes, ", now.size()) + setting + format("; looking on costs a node %.2f%%", watching);
  if (first.size() == now.size()) {
    add_pages(lines, first, second, seconds);
    add_locks(lines, first, second, seconds);
  }
  add_waits(lines, now);
  lines.resize(std::min(lines.size(), height));
  return lines;
}

}  // namespace weft::cli::top
