// The report's page: HTML from the records of one or more runs.
#pragma once

#include <string>
#include <vector>

#include "cli/report/run_record.h"

namespace weft::cli::report {

std::string render(std::vector<run_record> runs);

}  // namespace weft::cli::report
