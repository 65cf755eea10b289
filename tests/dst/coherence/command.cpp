#include "dst/coherence/command.h"

#include <cstdio>
#include <string_view>

#include "base/clock.h"
#include "base/text.h"
#include "dst/coherence/apart.h"
#include "dst/coherence/choices.h"
#include "dst/coherence/directed.h"
#include "dst/coherence/litmus.h"
#include "dst/coherence/shrink.h"
#include "dst/coherence/systematic.h"

namespace dst {

namespace {

using ull = unsigned long long;
constexpr unsigned longest_seed = 30;  // seconds, also under a sanitizer

struct arguments {
  test_case one;
  std::vector<std::string> which;  // protocols
  std::uint64_t first = 1, last = 100, departures = 1;
  bool single = false, trace = false, must_fail = false, shrink = true, litmus = false, systematic = false, choices = false,
       directed = false;
};

int usage() {
  std::fprintf(stderr,
               "usage: dst --protocol NAME|all [--seed N [--trace] [--plain] [--schedule N] [--keep UNITS] | --seeds A..B | "
               "--litmus | --choices | "
               "--directed | "
               "--systematic [--departures N]] [--must-fail] [--no-shrink]\n");
  return 2;
}

bool parse_seeds(std::string_view value, arguments& into) {
  const auto dots = value.find("..");
  if (dots == std::string_view::npos) return false;
  const auto first = weft::base::parse_number(value.substr(0, dots)), last = weft::base::parse_number(value.substr(dots + 2));
  if (!first || !last) return false;
  into.first = *first, into.last = *last;
  return true;
}

bool parse_units(std::string_view value, std::vector<std::uint32_t>& into) {
  while (!value.empty()) {
    const auto comma = std::min(value.find(','), value.size());
    const auto unit = weft::base::parse_number(value.substr(0, comma));
    if (!unit) return false;
    into.push_back(static_cast<std::uint32_t>(*unit));
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  return true;
}

bool parse_protocol(std::string_view value, arguments& into) {
  for (const auto& p : protocols)
    if (value == "all" || value == p.name) into.which.push_back(p.name);
  return !into.which.empty();
}

bool parse(int argc, char** argv, arguments& into) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--trace")
      into.trace = true;
    else if (name == "--plain")
      into.one.plain = true;
    else if (name == "--must-fail")
      into.must_fail = true;
    else if (name == "--no-shrink")
      into.shrink = false;
    else if (name == "--litmus")
      into.litmus = true;
    else if (name == "--choices")
      into.choices = true;
    else if (name == "--directed")
      into.directed = true;
    else if (name == "--systematic")
      into.systematic = true;
    else if (i + 1 == argc)
      return false;
    else if (const std::string_view value = argv[++i]; name == "--protocol") {
      if (!parse_protocol(value, into)) return false;
    } else if (name == "--seeds") {
      if (!parse_seeds(value, into)) return false;
    } else if (name == "--keep") {
      if (!parse_units(value, into.one.kept)) return false;
    } else if (name == "--seed" || name == "--schedule" || name == "--departures") {
      const auto number = weft::base::parse_number(value);
      if (!number) return false;
      if (name == "--schedule")
        into.one.schedule = *number;
      else if (name == "--departures")
        into.departures = *number;
      else
        into.one.seed = *number, into.single = true;
    } else
      return false;
  }
  return !into.which.empty();
}

// One run in this process, so that a debugger can look at it.
int run_one(const arguments& a) {
  bool failed = false;
  for (const auto& protocol : a.which) {
    auto c = a.one;
    c.protocol = protocol;
    const auto o = c.run(a.trace);
    std::printf("%s: seed %llu: schedule %016llx, %llu steps: %s\n", protocol.c_str(), static_cast<ull>(c.seed),
                static_cast<ull>(o.hash), static_cast<ull>(o.steps), o.failure ? o.failure->c_str() : "right");
    failed |= o.failure.has_value();
  }
  return failed ? 1 : 0;
}

void explain(const arguments& a, test_case c, const std::string& how) {
  std::printf("%s: seed %llu failed: %s\n", c.protocol.c_str(), static_cast<ull>(c.seed), how.c_str());
  if (!a.shrink) return;
  const auto small = shrink(c, how);
  const program p = small.smallest.make();
  std::printf("  smallest: %s\n%s  fails: %s\n  again with: %s --trace\n", small.smallest.where(p).text().c_str(), p.text().c_str(),
              small.how.c_str(), small.smallest.command().c_str());
}

// Seeds until one fails; which, and how.
std::optional<apart::failure> run_seeds(const std::string& protocol, std::uint64_t first, std::uint64_t last) {
  return apart::run(longest_seed, [&](report& r) {
    for (std::uint64_t seed = first; seed <= last; ++seed) {
      r.at(seed);
      if (const auto o = run_seed(protocol, seed); o.failure) return r.failed(*o.failure);
    }
  });
}

int run_many(const arguments& a) {
  std::uint64_t failures = 0;
  for (const auto& protocol : a.which) {
    const auto began = weft::base::now();
    std::uint64_t failed = 0;
    for (std::uint64_t seed = a.first; seed <= a.last;) {
      const auto f = run_seeds(protocol, seed, a.last);
      if (!f) break;
      ++failed;
      explain(a, {protocol, f->number, std::nullopt, false, {}}, f->how);
      seed = f->number + 1;
      if (a.must_fail) return 0;
    }
    const double seconds = static_cast<double>(weft::base::now() - began) / 1e9;
    const auto count = a.last - a.first + 1;
    std::printf("%s: %llu seeds, %llu failed; %.1f s, %.0f an hour\n", protocol.c_str(), static_cast<ull>(count),
                static_cast<ull>(failed), seconds, static_cast<double>(count) * 3600 / seconds);
    failures += failed;
  }
  return (failures == 0) == !a.must_fail ? 0 : 1;
}

int run_each(const arguments& a) {
  for (const auto& protocol : a.which) {
    const auto wrong = a.litmus     ? run_litmus(protocol)
                       : a.choices  ? run_choices(protocol)
                       : a.directed ? run_directed(protocol)
                                    : run_systematically(protocol, a.departures);
    if (!wrong) continue;
    std::printf("%s\n", wrong->c_str());
    return 1;
  }
  return 0;
}

}  // namespace

bool asks_for_coherence(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--protocol") return true;
  return false;
}

int coherence_command(int argc, char** argv) {
  arguments a;
  if (!parse(argc, argv, a)) return usage();
  if (a.litmus || a.choices || a.directed || a.systematic) return run_each(a);
  return a.single ? run_one(a) : run_many(a);
}

}  // namespace dst
