// The bootstrap of a program that nobody launched: a job of one node.
#pragma once

#include <memory>

#include "join/bootstrap.h"

namespace weft::runtime {

result<std::unique_ptr<bootstrap>> join_alone();

}  // namespace weft::runtime
