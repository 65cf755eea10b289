// What the nodes do with each page, put together, and what to think of it. Pure functions of a run's record.
#pragma once

#include <string>
#include <vector>

#include "cli/report/run_record.h"

namespace weft::cli::report {

enum class verdict { own, read_mostly, producer_consumer, migratory, written_by_several, falsely_shared };
inline constexpr std::size_t verdicts = 6;
const char* name_of(verdict v);

struct page_story {
  std::uint64_t page = 0;
  std::vector<page_use> uses;  // by node
  report::verdict verdict = report::verdict::own;
  std::string words;   // "falsely shared by nodes 1 and 3: bytes 0-63 and 64-127"
  std::string advice;  // or empty
  std::vector<std::uint32_t> writers;
  std::vector<std::size_t> allocations;  // that have a part of it, by index

  std::uint64_t faults() const;
  std::uint64_t bytes() const;  // of the page that travelled
};

// By page.
std::vector<page_story> tell_pages(const run_record& run);

}  // namespace weft::cli::report
