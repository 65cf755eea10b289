#include "os/page_engine.h"

namespace weft::os {

result<std::unique_ptr<page_engine>> page_engine::create(std::byte* base, std::size_t size, int file, fault_handler& handler,
                                                         way how) {
  const bool chosen = how == way::best;
  if (chosen) how = best().how;
  if (how == way::mprotect) return detail::mprotect_engine(base, size, file, handler);
  auto engine = detail::uffd_engine(base, size, file, handler);
  if (!engine && !chosen) return {engine.code(), engine.sentence() + "; leave --engine out for the one that works here"};
  return engine;
}

page_engine::choice page_engine::best() {
  if (const auto works = detail::uffd_works(); !works) return {way::mprotect, works.sentence() + ", and SIGSEGV works everywhere"};
  return {way::uffd, "userfaultfd and PAGEMAP_SCAN have all it needs"};
}

}  // namespace weft::os
