// Blumrich et al., "Design Choices in the SHRIMP System: An Empirical Study", ISCA 1998, section 4, as far as it is about shared virtual
// memory: automatic update or not, a system call for every send, an interrupt for every arrival, combining, the size of the FIFO, a queue.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "cli/sim/experiment.h"
#include "page/bars.h"
#include "page/document.h"
#include "page/table.h"

namespace weft::cli::simulator {

namespace {

using base::format;

// Table 1. Of barnes one step of the several that the paper does not count.
const std::vector<program> suite = {
    {"barnes", {"--bodies", "16384", "--steps", "1"}, {"--bodies", "500", "--steps", "1"}, 10},
    {"ocean", {"--size", "130", "--steps", "2"}, {"--size", "34", "--steps", "1"}, 5},
    {"radix", {"--keys", "2097152"}, {"--keys", "20000"}, 20},
};

// The node: a Pentium of 60 MHz on EISA. Section 4: automatic update takes 3.71 us from end to end, a send less than 2 us. EISA moves 33 MB/s.
// The paper does not say what a system call and an interrupt take: 10 us each.
constexpr const char* a_call = "600";
constexpr const char* small_fifo = "128";  // writes of 8 bytes: 1 KiB; the usual one has 32 KiB

setting_map shrimp(setting_map more) {
  more.insert({{"protocol", "hlrc"}, {"megahertz", "60"}, {"latency", "222"}, {"bandwidth", "33"}, {"messaging", "120"}, {"write-buffer", "4096"}});
  return more;
}

const std::vector<system> systems = {
    {"hlrc", shrimp({})},
    {"aurc", shrimp({{"interface", "CHHN"}})},
    {"aurc, combining", shrimp({{"interface", "CHHM"}})},
    {"aurc, small FIFO", shrimp({{"interface", "CHHN"}, {"write-buffer", small_fifo}})},
    {"hlrc, calls", shrimp({{"send-call", a_call}})},
    {"hlrc, interrupts", shrimp({{"arrival-interrupt", a_call}})},
    {"hlrc, no queue", shrimp({{"send-queue", "1"}})},
    {"hlrc, queue of 2", shrimp({{"send-queue", "2"}})},
};

// What the paper gives in per cent.
struct paper_row {
  const char* program;
  double aurc, calls, interrupts;  // gain over hlrc; cost
};
constexpr paper_row paper[] = {{"barnes", 9.1, 23.2, 18.1}, {"ocean", 30.2, 17.7, 25.1}, {"radix", 79.3, 2.3, 1.1}};

class shrimp_system {
 public:
  explicit shrimp_system(const request& r) : processors_(r.quick ? 4 : 16), quick_(r.quick), runs_(suite, systems, r) {}

  void simulate() {
    for (const auto& p : suite)
      for (const auto& s : systems) runs_.want(at(p.name, s.name));
    runs_.run();
  }

  std::vector<claim> claims() const {
    std::vector<claim> all;
    const auto gain = [&](const char* p) { return change(p, "aurc", "hlrc"); };
    const auto gains = format("barnes %.1f%%, ocean %.1f%%, radix %.1f%%", gain("barnes"), gain("ocean"), gain("radix"));
    all.push_back({"aurc_gains_most_on_radix", "automatic update gains most on radix (79.3%)",
                   gain("radix") > std::max(gain("barnes"), gain("ocean")), gains});
    all.push_back({"aurc_gains_least_on_barnes", "and least on barnes (9.1%)", gain("barnes") < std::min(gain("radix"), gain("ocean")), gains});
    for (const auto& [name, sentence, usual, system] :
         {std::tuple{"combining_hardly_matters", "combining is within 1% on SVM programs", "aurc", "aurc, combining"},
          std::tuple{"a_small_fifo_is_enough", "a FIFO of 1 KiB makes no difference", "aurc", "aurc, small FIFO"},
          std::tuple{"a_queue_hardly_matters", "a queue of two deliberate updates is within 1%", "hlrc, queue of 2", "hlrc, no queue"}}) {
      bool little = true;
      std::string seen;
      for (const auto& p : suite) {
        const double by = change(p.name, system, usual);
        little = little && std::abs(by) < 1;
        seen += format("%s%s %.2f%%", seen.empty() ? "" : ", ", p.name.c_str(), by);
      }
      all.push_back({name, sentence, little, seen});
    }
    return all;
  }

  void print_table() const {
    std::printf("per cent, here (paper)   aurc gains        a call costs      an interrupt costs\n");
    for (const auto& row : paper)
      std::printf("%-20s %8.1f (%5.1f) %9.1f (%5.1f) %9.1f (%5.1f)\n", row.program, change(row.program, "aurc", "hlrc"), row.aurc,
                  change(row.program, "hlrc", "hlrc, calls"), row.calls, change(row.program, "hlrc", "hlrc, interrupts"), row.interrupts);
  }

  std::string page() const {
    page::document d("SHRIMP, simulated again");
    d.paragraph("Blumrich et al., Design Choices in the SHRIMP System: An Empirical Study, ISCA 1998, section 4, for programs in shared memory.");
    if (quick_) d.paragraph("A quick run: small programs on few processors. Its numbers are not the paper's.");
    page::bars b("Time over hlrc's", "time over hlrc's", {"time"});
    for (const auto& p : suite)
      for (const auto& s : systems) b.add(s.name, {runs_.ratio(at(p.name, s.name), at(p.name, "hlrc"))}, p.name);
    d.add(b.svg());
    using page::table;
    table t({{"program", table::holds::words}, {"aurc gains, %"}, {"paper"}, {"a call costs, %"}, {"paper, Table 2"}, {"an interrupt costs, %"},
             {"paper, Table 4"}});
    for (const auto& row : paper)
      t.row({row.program, format("%.1f", change(row.program, "aurc", "hlrc")), format("%.1f", row.aurc),
             format("%.1f", change(row.program, "hlrc", "hlrc, calls")), format("%.1f", row.calls),
             format("%.1f", change(row.program, "hlrc", "hlrc, interrupts")), format("%.1f", row.interrupts)});
    d.add(t.html());
    d.heading("Claims");
    d.add(html_of(claims()));
    return d.html();
  }

  nlohmann::json json() const {
    return {{"paper", "shrimp"}, {"quick", quick_}, {"claims", json_of(claims())}, {"references_per_second", runs_.references_per_second()},
            {"runs", runs_.all()}};
  }

 private:
  point at(const std::string& p, const std::string& s) const { return {p, s, processors_}; }
  // How much longer the second takes, in per cent of the first.
  double change(const std::string& p, const std::string& first, const std::string& second) const {
    return 100 * (runs_.ratio(at(p, second), at(p, first)) - 1);
  }

  const unsigned processors_;
  const bool quick_;
  experiment runs_;
};

}  // namespace

int shrimp_paper(const request& r) {
  shrimp_system s(r);
  s.simulate();
  s.print_table();
  print(s.claims());
  write_file(r.html, s.page());
  write_file(r.json, s.json().dump(1) + "\n");
  return 0;
}

}  // namespace weft::cli::simulator
