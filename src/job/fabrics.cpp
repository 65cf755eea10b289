#include "job/fabrics.h"

#include "base/text.h"
#include "fabric/ofi/ofi_port.h"
#include "fabric/shm/shm_port.h"
#include "fabric/udp/udp_port.h"

namespace weft::runtime {

const std::vector<std::string>& fabric_names() {
  static const std::vector<std::string> names = {"shm", "udp", "ofi"};
  return names;
}

result<std::unique_ptr<fabric::fabric>> make_fabric(const std::string& name, const fabric::fabric_options& options) {
  if (name == "shm") return {std::make_unique<fabric::shm::shm_port>(options)};
  if (name == "udp") return {std::make_unique<fabric::udp::udp_port>(options)};
  if (name == "ofi") return {std::make_unique<fabric::ofi::ofi_port>(options)};
  return {errc::invalid_argument, base::format("there is no fabric \"%s\"; choose shm, udp or ofi", name.c_str())};
}

}  // namespace weft::runtime
