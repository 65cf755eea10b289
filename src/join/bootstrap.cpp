#include "join/bootstrap.h"

#include <cstdlib>

#include "join/alone.h"
#include "join/launched.h"
#include "join/pmix_bootstrap.h"

namespace weft::runtime {

bootstrap::~bootstrap() = default;

bool bootstrap::give_up(const std::string&) {
  return false;
}
void bootstrap::on_roll_call(std::function<control::presence()>) {}
void bootstrap::on_sample(std::function<std::string()>) {}
bool bootstrap::call_roll() {
  return false;
}
bool bootstrap::deliver(const std::string&) {
  return false;
}
bool bootstrap::deliver_trace(const std::string&) {
  return false;
}

result<std::unique_ptr<bootstrap>> join_job() {
  if (std::getenv(control_variable) != nullptr) return join_launched();
  if (pmix_announced()) return join_pmix();
  if (auto s = check_not_scattered(); !s) return s;
  return join_alone();
}

}  // namespace weft::runtime
