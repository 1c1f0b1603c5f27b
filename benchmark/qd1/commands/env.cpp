// SPDX-License-Identifier: BSL-1.0
// qd1 env: the machine as qd1 finds it.
#include "commands/commands.hpp"
#include "commands/common.hpp"
#include "failure.hpp"
#include "output/output_file.hpp"
#include "output/wording.hpp"
#include "text/printable.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <qd1/machine/advice.hpp>
#include <qd1/machine/describe.hpp>
#include <qd1/machine/find.hpp>
#include <qd1/machine/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

namespace qd1 {
namespace {

struct env_state {
  std::string path = ".";
  output_file json;
};

int describe_machine(env_state& own) {
  std::error_code failure;
  if (!std::filesystem::exists(own.path, failure))
    throw usage_error(own.path + ": " +
                      (failure ? failure : std::make_error_code(std::errc::no_such_file_or_directory)).message());
  own.json.open();
  const machine_facts machine = find_machine(own.path);
  if (!own.json.is_standard_output()) print(stdout, describe(machine, std::min(page_width(), widest_description)));
  if (own.json.is_wanted())
    own.json.write(nlohmann::json{{"machine", machine}, {"advice", advise(machine)}}.dump(
                       2, ' ', false, nlohmann::json::error_handler_t::replace) +
                   '\n');
  return exit_pass;
}

}  // namespace

command env_command() {
  const auto own = std::make_shared<env_state>();
  command made{"env", "Show the machine, and which of its settings affect results", {}, {}, true};
  add_path(made.options, own->path, "A file, a directory or a block device");
  add_format(made.options, "--json", own->json, "what is shown");
  made.run = [own](const std::string&) { return describe_machine(*own); };
  return made;
}

}  // namespace qd1
