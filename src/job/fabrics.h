// The fabrics by name: the one place that knows them all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.h"

namespace weft::runtime {

const std::vector<std::string>& fabric_names();

result<std::unique_ptr<fabric::fabric>> make_fabric(const std::string& name, const fabric::fabric_options& options);

}  // namespace weft::runtime
