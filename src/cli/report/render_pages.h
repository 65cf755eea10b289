// The report's map of pages: which allocation has which pages, what the nodes do with them, and what to do about it.
#pragma once

#include "cli/report/run_record.h"
#include "charts/document.h"

namespace weft::cli::report {

void add_pages(charts::document& d, const run_record& r);

}  // namespace weft::cli::report
