// The tables of `weft bench vmmc` beside StarT-JR's: SHRIMP's and Telegraphos's questions, answered.
#include "bench/vmmc/vmmc_report.h"

#include "bench/harness/text_table.h"

namespace weft::bench {
namespace {

using base::format;

std::string size_text(std::size_t size) {
  return size >= 1 << 20 ? format("%zu MiB", size >> 20) : size >= 1024 ? format("%zu KiB", size >> 10) : format("%zu bytes", size);
}

double of(const report& r, const std::string& owner, const char* name, std::size_t size) {
  return value_of(r.found, owner, name, size);
}

std::string ratio_text(double a, double b) {
  return std::isnan(a / b) ? "-" : format("%.2f", a / b);
}

std::vector<std::size_t> sizes_of(const report& r, const std::string& owner, const char* name) {
  std::vector<std::size_t> all;
  if (const auto* sizes = r.found.find(owner, name))
    for (const auto& [size, m] : *sizes) all.push_back(size);
  return all;
}

std::string by_size(const report& r) {
  text_table t({"SHRIMP 4.2: a block, us", "automatic", "deliberate", "automatic / deliberate"});
  for (const auto& f : r.fabrics)
    for (const auto size : sizes_of(r, f.owner, "auto_block")) {
      const double a = of(r, f.owner, "auto_block", size), b = of(r, f.owner, "deliberate_block", size);
      t.row({f.owner + " " + size_text(size), short_number(a, 1e-3), short_number(b, 1e-3), ratio_text(a, b)});
    }
  return t.text();
}

std::string by_sparseness(const report& r) {
  text_table t({"SHRIMP 4.2: words of a region, us", "automatic", "gathered by hand", "whole region", "automatic / gathered"});
  auto add = [&](const std::string& title, double a, double g, double w) {
    t.row({title, short_number(a, 1e-3), short_number(g, 1e-3), short_number(w, 1e-3), ratio_text(a, g)});
  };
  for (const auto& f : r.fabrics) {
    for (const auto stride : sizes_of(r, f.owner, "auto_sparse"))
      add(format("%s 1 of %zu in 1 MiB", f.owner.c_str(), stride), of(r, f.owner, "auto_sparse", stride),
          of(r, f.owner, "gathered_sparse", stride), of(r, f.owner, "whole_sparse", stride));
    for (const auto stride : sizes_of(r, f.owner, "auto_sparse_16_MiB"))
      add(format("%s 1 of %zu in 16 MiB", f.owner.c_str(), stride), of(r, f.owner, "auto_sparse_16_MiB", stride),
          of(r, f.owner, "gathered_sparse_16_MiB", stride), NAN);
  }
  return t.text();
}

std::string kernel_and_interrupts(const report& r) {
  text_table t({"SHRIMP 4.3 and 4.4, 8 bytes, ns", "update", "with a system call", "increase", "with a notification", "increase"});
  for (const auto& f : r.fabrics) {
    const double plain = of(r, f.owner, "update", 8), called = of(r, f.owner, "called_update", 8),
                 notified = of(r, f.owner, "notifying_update", 8);
    auto percent = [&](double v) { return std::isnan(v / plain) ? std::string("-") : format("%+.0f%%", (v / plain - 1) * 100); };
    t.row({f.owner + " in a stream", short_number(plain), short_number(called), percent(called), short_number(notified),
           percent(notified)});
    const double way = of(r, f.owner, "update_one_way", 8), called_way = of(r, f.owner, "called_update_one_way", 8);
    t.row({f.owner + " one way", short_number(way), short_number(called_way),
           std::isnan(called_way / way) ? "-" : format("%+.0f%%", (called_way / way - 1) * 100), "-", "-"});
  }
  return t.text();
}

std::string combining(const report& r) {
  text_table t({"SHRIMP 4.5.1: a block by tracked pages, us", "combined", "not combined", "not combined / combined"});
  for (const auto& f : r.fabrics)
    for (const auto size : sizes_of(r, f.owner, "combined_block")) {
      const double a = of(r, f.owner, "combined_block", size), b = of(r, f.owner, "uncombined_block", size);
      t.row({f.owner + " " + size_text(size), short_number(a, 1e-3), short_number(b, 1e-3), ratio_text(b, a)});
    }
  return t.text();
}

std::string queueing(const report& r) {
  text_table t({"SHRIMP 4.5.3: queued updates, GB/s", "depth 1", "depth 2", "depth 8", "depth 8 / depth 1"});
  for (const auto& f : r.fabrics)
    for (const auto size : sizes_of(r, f.owner, "queued_1")) {
      const double one = of(r, f.owner, "queued_1", size), two = of(r, f.owner, "queued_2", size),
                   eight = of(r, f.owner, "queued_8", size);
      t.row({f.owner + " " + size_text(size), short_number(one), short_number(two), short_number(eight), ratio_text(eight, one)});
    }
  return t.text();
}

std::string senders(const report& r) {
  text_table t({"Telegraphos 1 and 2: telling of an arrival, ns a word", "enqueue", "fetch_add and put", "flag a sender", "lock",
                "enqueue / fetch_add and put"});
  for (const auto& f : r.fabrics)
    for (const auto n : sizes_of(r, f.owner, "enqueue_word")) {
      const double e = of(r, f.owner, "enqueue_word", n), p = of(r, f.owner, "fetch_add_put_word", n);
      t.row({format("%s %zu sender%s", f.owner.c_str(), n, n == 1 ? "" : "s"), short_number(e), short_number(p),
             short_number(of(r, f.owner, "flag_word", n)), short_number(of(r, f.owner, "locked_word", n)), ratio_text(e, p)});
    }
  return t.text();
}

}  // namespace

std::string vmmc_text(const report& r) {
  return table_2_text(r) + "\n" + table_3_text(r) + "\n" + by_size(r) + "\n" + by_sparseness(r) + "\n" + kernel_and_interrupts(r) +
         "\n" + combining(r) + "\n" + queueing(r) + "\n" + senders(r);
}

}  // namespace weft::bench
