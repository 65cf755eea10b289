// The statistics of a job: what every node has done, gathered at node 0 when the job ends, as one JSON document. What each number means
// is in docs/statistics.md.
#pragma once

#include <string>
#include <vector>

#include "insight/account.h"
#include "join/bootstrap.h"
#include "space/observed.h"

namespace weft::runtime {

// The document, from the accounts of all nodes, by node. `for_report`: with the lists that `weft report` shows, which are long.
std::string statistics_document(const identity& who, const char* way, const char* fabric, const observed& shared,
                                const std::vector<account>& nodes, bool for_report);

// Writes it where option `stats` says: into a file, or with "-" to standard error.
status write_document(const std::string& where, const std::string& document);

}  // namespace weft::runtime
