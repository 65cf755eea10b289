#include "cli/sim/machine_options.h"

#include "base/text.h"
#include "sim/machine/networks.h"
#include "sim/machine/parameters.h"

namespace weft::simulator {

void add_machine_options(CLI::App& command, std::map<std::string, std::string>& values) {
  const sim::parameters usual;
  for (const auto& d : sim::parameters::all())
    command
        .add_option(std::string("--") + d.name, values[d.name],
                    base::format("%s, in %s (%s); default: %llu", d.what, d.unit, d.source,
                                 static_cast<unsigned long long>(usual.*d.value)))
        ->type_name("N")
        ->group("The machine");
  std::string known;
  for (const auto& n : sim::networks()) known += std::string(known.empty() ? "" : "; ") + n.name + ": " + n.what;
  command
      .add_option("--network", values["network"], "A network of today and a node of today (" + known + "); instead of the paper's")
      ->type_name("NAME")
      ->group("The machine");
}

}  // namespace weft::simulator
