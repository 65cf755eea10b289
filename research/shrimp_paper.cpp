// Blumrich et al., "Design Choices in the SHRIMP System: An Empirical Study", ISCA 1998, section 4, for programs in shared virtual memory and
// for programs that communicate by themselves: automatic update or not, a system call for every send, an interrupt for every arrival, combining,
// the size of the FIFO, a queue.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/text.h"
#include "research/experiment.h"
#include "charts/bars.h"
#include "charts/document.h"
#include "charts/table.h"

namespace weft::research {

namespace {

using base::format;

// The node: a Pentium of 60 MHz on EISA. Section 4: automatic update takes 3.71 us from end to end, a send less than 2 us. EISA moves 33 MB/s.
// Section 2.1: the network's links move 200 MB/s; automatic updates get there without EISA.
// Section 4.5.3: a send returns when all of it has left, and processor and interface do not share the bus. Section 4.5.2: a FIFO of 32 KiB.
// The paper does not say what a system call and an interrupt take: 10 us each.
constexpr const char* a_call = "600";
constexpr const char* small_fifo = "1024";

setting_map shrimp(setting_map more) {
  more.insert({{"protocol", "hlrc"},
               {"megahertz", "60"},
               {"latency", "222"},
               {"bandwidth", "33"},
               {"messaging", "120"},
               {"sends-wait", "1"},
               {"shared-bus", "0"},
               {"outgoing-fifo", "32768"},
               {"update-bandwidth", "200"}});
  return more;
}

// A program's communication is the interface's business: deliberate and automatic updates.
setting_map native(setting_map more) {
  more.insert({{"interface", "CHHN"}, {"initiation", "120"}});
  return shrimp(more);
}

// What the paper gives in per cent, or what its text says.
struct paper_row {
  const char* program;
  const char* automatic;  // gain by automatic update
  std::optional<double> call, interrupt;
};

// Programs of one kind, and what they are asked.
struct questions {
  std::string kind, usual, automatic, combining, calls, interrupts, no_queue, queue, small;  // systems by name
  std::vector<program> programs;
  std::vector<system> systems;
  std::vector<paper_row> paper;
};

// Table 1. Of barnes one step of the several that the paper does not count; section 3: SPLASH-2's, which leaves bodies in place and does not time
// its first two steps, in which a worker's bodies come from everywhere. Section 3: a worker of radix writes its keys in an irregular order;
// ocean's matrix is divided into blocks of whole, contiguous rows, 1040 bytes each, and nothing says that they begin at pages. Which worker of
// barnes gets a lock first depends on little, and so does the time of one step, by about 1%: hence the mean of several.
const questions svm = {"shared memory",
                       "hlrc",
                       "aurc",
                       "aurc, combining",
                       "hlrc, calls",
                       "hlrc, interrupts",
                       "hlrc, no queue",
                       "hlrc, queue of 2",
                       "aurc, small FIFO",
                       {{"barnes",
                         {"--bodies", "16384", "--steps", "3", "--before", "2", "--in-place"},
                         {"--bodies", "500", "--steps", "3", "--before", "2", "--in-place"},
                         10,
                         4},
                        {"ocean", {"--size", "130", "--steps", "2", "--packed"}, {"--size", "34", "--steps", "1", "--packed"}, 5},
                        {"radix", {"--keys", "2097152", "--one-by-one"}, {"--keys", "20000", "--one-by-one"}, 20}},
                       {{"hlrc", shrimp({})},
                        {"aurc", shrimp({{"interface", "CHHN"}})},
                        {"aurc, combining", shrimp({{"interface", "CHHM"}})},
                        {"aurc, small FIFO", shrimp({{"interface", "CHHN"}, {"outgoing-fifo", small_fifo}})},
                        {"hlrc, calls", shrimp({{"send-call", a_call}})},
                        {"hlrc, interrupts", shrimp({{"arrival-interrupt", a_call}})},
                        {"hlrc, no queue", shrimp({{"sends-wait", "0"}, {"send-queue", "1"}})},
                        {"hlrc, queue of 2", shrimp({{"sends-wait", "0"}, {"send-queue", "2"}})}},
                       {{"barnes", "9.1", 23.2, 18.1}, {"ocean", "30.2", 17.7, 25.1}, {"radix", "79.3", 2.3, 1.1}}};

// Table 1. Of Barnes-NX two of 20 steps. files is for DFS-sockets, render for Render-sockets.
const questions natives = {
    "messages",
    "deliberate",
    "automatic",
    "automatic, combining",
    "deliberate, calls",
    "deliberate, interrupts",
    "deliberate, no queue",
    "deliberate, queue of 2",
    "automatic, small FIFO",
    {{"radix_vmmc", {"--keys", "2097152", "--by", "deliberate"}, {"--keys", "20000", "--by", "deliberate"}, 10},
     {"barnes_nx", {"--bodies", "4096", "--steps", "2"}, {"--bodies", "500", "--steps", "1"}, 3},
     {"ocean_nx", {"--size", "514", "--steps", "1"}, {"--size", "66", "--steps", "1"}, 8},
     {"files", {"--blocks", "256"}, {"--blocks", "32"}, 2},
     {"render", {"--frames", "4"}, {"--size", "16", "--width", "32", "--frames", "1"}, 2}},
    {{"deliberate", native({})},
     {"automatic", native({}), {"--automatic"}},
     {"automatic, combining", native({{"interface", "CHHM"}}), {"--automatic"}},
     {"automatic, small FIFO", native({{"outgoing-fifo", small_fifo}}), {"--automatic"}},
     {"deliberate, calls", native({{"send-call", a_call}})},
     {"deliberate, interrupts", native({{"arrival-interrupt", a_call}})},
     {"deliberate, no queue", native({{"sends-wait", "0"}, {"send-queue", "1"}})},
     {"deliberate, queue of 2", native({{"sends-wait", "0"}, {"send-queue", "2"}})}},
    {{"radix_vmmc", "240", 5.9, 0.3},
     {"barnes_nx", "none", 52.2, 6.3},
     {"ocean_nx", "none", 10.1, 15.7},
     {"files", "none", {}, 18.3},
     {"render", "none", 6.8, 8.5}}};

std::vector<program> programs_of_both() {
  auto all = svm.programs;
  all.insert(all.end(), natives.programs.begin(), natives.programs.end());
  return all;
}

std::vector<system> systems_of_both() {
  auto all = svm.systems;
  all.insert(all.end(), natives.systems.begin(), natives.systems.end());
  return all;
}

std::string shown(const std::optional<double>& number) {
  return number ? format("%.1f", *number) : "-";
}

class shrimp_system {
 public:
  explicit shrimp_system(const request& r)
      : processors_(r.quick ? 4 : 16), quick_(r.quick), runs_(programs_of_both(), systems_of_both(), r) {}

  void simulate() {
    for (const auto* q : {&svm, &natives})
      for (const auto& p : q->programs)
        for (const auto& s : q->systems) runs_.want(at(p.name, s.name));
    runs_.run();
  }

  std::vector<claim> claims() const {
    std::vector<claim> all;
    const auto gain = [&](const char* p) { return change(p, svm.automatic, svm.usual); };
    const auto gains = format("barnes %.1f%%, ocean %.1f%%, radix %.1f%%", gain("barnes"), gain("ocean"), gain("radix"));
    all.push_back({"aurc_gains_most_on_radix", "automatic update gains most on radix (79.3%)",
                   gain("radix") > std::max(gain("barnes"), gain("ocean")), gains});
    all.push_back({"aurc_gains_least_on_barnes", "and least on barnes (9.1%)",
                   gain("barnes") < std::min(gain("radix"), gain("ocean")), gains});
    all.push_back(
        hardly("combining_hardly_matters", "combining is within 1% on SVM programs", svm, {}, svm.automatic, svm.combining));
    all.push_back(hardly("a_small_fifo_is_enough", "a FIFO of 1 KiB makes no difference", svm, {}, svm.automatic, svm.small));
    all.push_back(
        hardly("a_queue_hardly_matters", "a queue of two deliberate updates is within 1%", svm, {}, svm.queue, svm.no_queue));
    add_native_claims(all);
    return all;
  }

  void print_tables() const {
    if (const std::string other = runs_.told_changes(); !other.empty()) std::printf("%s\n", other.c_str());
    for (const auto* q : {&svm, &natives}) {
      std::printf("%-22s automatic gains   a call costs     an interrupt costs   combining small FIFO   no queue\n",
                  (q->kind + ", %").c_str());
      for (const auto& row : q->paper) {
        const auto n = numbers(*q, row.program);
        std::printf("%-20s %8.1f (%5s) %9.1f (%5s) %9.1f (%5s) %14.2f %10.2f %10.2f\n", row.program, n.automatic, row.automatic,
                    n.calls, shown(row.call).c_str(), n.interrupts, shown(row.interrupt).c_str(), n.combining, n.small, n.no_queue);
      }
    }
  }

  std::string page() const {
    charts::document d("SHRIMP, simulated again");
    d.paragraph(
        "Blumrich et al., Design Choices in the SHRIMP System: An Empirical Study, ISCA 1998, section 4, for programs in shared "
        "memory and "
        "for programs that communicate by themselves.");
    if (quick_) d.paragraph("A quick run: small programs on few processors. Its numbers are not the paper's.");
    if (const std::string other = runs_.told_changes(); !other.empty()) d.paragraph(other);
    for (const auto* q : {&svm, &natives}) {
      d.heading("Programs with " + q->kind);
      charts::bars b("Time over " + q->usual, "time over that of " + q->usual, {"time"});
      for (const auto& p : q->programs)
        for (const auto& s : q->systems) b.add(s.name, {runs_.ratio(at(p.name, s.name), at(p.name, q->usual))}, p.name);
      d.add(b.svg());
      d.add(table_of(*q));
    }
    d.heading("Claims");
    d.add(html_of(claims()));
    return d.html();
  }

  nlohmann::json json() const {
    nlohmann::json j = {{"paper", "shrimp"},           {"quick", quick_},
                        {"instead", runs_.instead()},  {"machine", runs_.machine()},
                        {"claims", json_of(claims())}, {"references_per_second", runs_.references_per_second()},
                        {"runs", runs_.all()}};
    for (const auto* q : {&svm, &natives})
      for (const auto& row : q->paper) {
        const auto n = numbers(*q, row.program);
        j["per_cent"][row.program] = {{"automatic_gains", n.automatic},     {"a_call_costs", n.calls},
                                      {"an_interrupt_costs", n.interrupts}, {"combining_costs", n.combining},
                                      {"a_small_fifo_costs", n.small},      {"no_queue_costs", n.no_queue}};
      }
    return j;
  }

 private:
  point at(const std::string& p, const std::string& s) const { return {p, s, processors_}; }
  // How much longer the second takes, in per cent of the first.
  double change(const std::string& p, const std::string& first, const std::string& second) const {
    return 100 * (runs_.ratio(at(p, second), at(p, first)) - 1);
  }

  struct row_of_numbers {
    double automatic, calls, interrupts, combining, small, no_queue;
  };
  row_of_numbers numbers(const questions& q, const std::string& p) const {
    return {change(p, q.automatic, q.usual),     change(p, q.usual, q.calls),     change(p, q.usual, q.interrupts),
            change(p, q.automatic, q.combining), change(p, q.automatic, q.small), change(p, q.queue, q.no_queue)};
  }

  // Within 1%, for all programs but these.
  claim hardly(const char* name, const char* sentence, const questions& q, const std::vector<std::string>& but,
               const std::string& usual, const std::string& other) const {
    bool little = true;
    std::string seen;
    for (const auto& p : q.programs) {
      if (std::find(but.begin(), but.end(), p.name) != but.end()) continue;
      const double by = change(p.name, usual, other);
      little = little && std::abs(by) < 1;
      seen += format("%s%s %.2f%%", seen.empty() ? "" : ", ", p.name.c_str(), by);
    }
    return {name, sentence, little, seen};
  }

  void add_native_claims(std::vector<claim>& all) const {
    const auto faster = [&](const char* p) { return runs_.ratio(at(p, natives.usual), at(p, natives.automatic)); };
    all.push_back({"radix_vmmc_gains", "automatic update makes Radix-VMMC faster (by a factor of 3.4), by more than a tenth",
                   faster("radix_vmmc") > 1.1, format("by a factor of %.2f", faster("radix_vmmc"))});
    bool none = true;
    std::string seen;
    for (const char* p : {"barnes_nx", "ocean_nx", "files", "render"}) {
      const double best = std::max(faster(p), runs_.ratio(at(p, natives.usual), at(p, natives.combining)));
      none = none && best < 1.01;
      seen += format("%s%s %.2f", seen.empty() ? "" : ", ", p, best);
    }
    all.push_back({"messages_do_not_gain", "automatic update does not help message-passing programs, with combining or without",
                   none, "deliberate over automatic: " + seen});
    const double slower = runs_.ratio(at("files", natives.automatic), at("files", natives.usual));
    all.push_back({"sockets_need_combining", "DFS-sockets runs about a factor of two slower by automatic update without combining",
                   slower > 1.5 && slower < 2.5, format("a factor of %.2f", slower)});
    all.push_back(hardly("native_combining_hardly_matters", "combining is within 1% on Radix-VMMC", natives,
                         {"barnes_nx", "ocean_nx", "files", "render"}, natives.automatic, natives.combining));
    all.push_back(hardly("a_small_fifo_is_enough_for_messages", "a FIFO of 1 KiB makes no difference", natives, {},
                         natives.automatic, natives.small));
  }

  std::string table_of(const questions& q) const {
    using charts::table;
    table t({{"program", table::holds::words},
             {"automatic update gains, %"},
             {"paper"},
             {"a call costs, %"},
             {"paper, Table 2"},
             {"an interrupt costs, %"},
             {"paper, Table 4"},
             {"combining costs, %"},
             {"a small FIFO costs, %"},
             {"no queue costs, %"}});
    for (const auto& row : q.paper) {
      const auto n = numbers(q, row.program);
      t.row({row.program, format("%.1f", n.automatic), row.automatic, format("%.1f", n.calls), shown(row.call),
             format("%.1f", n.interrupts), shown(row.interrupt), format("%.2f", n.combining), format("%.2f", n.small),
             format("%.2f", n.no_queue)});
    }
    return t.html();
  }

  const unsigned processors_;
  const bool quick_;
  experiment runs_;
};

}  // namespace

int shrimp_paper(const request& r) {
  shrimp_system s(r);
  s.simulate();
  s.print_tables();
  print(s.claims());
  write_file(r.html, s.page());
  write_file(r.json, s.json().dump(1) + "\n");
  return 0;
}

}  // namespace weft::research
