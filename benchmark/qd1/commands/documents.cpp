// SPDX-License-Identifier: BSL-1.0
// qd1 manual, completion and schema: what is generated from the tables, for packages and for programs.
#include "options/documents.hpp"

#include "commands/commands.hpp"
#include "failure.hpp"
#include "output/schema.hpp"

#include <fmt/format.h>

#include <memory>

namespace qd1 {
namespace {

command printing(std::string name, std::string help, std::string argument, std::string about,
                 std::vector<std::pair<std::string, std::function<std::string()>>> documents) {
  const auto wanted = std::make_shared<std::string>();
  command made{std::move(name), std::move(help), {}, {}};
  std::vector<std::string> names;
  names.reserve(documents.size());
  for (const auto& [each, _] : documents) names.push_back(each);
  made.options.word(std::move(argument), *wanted, names, std::move(about)).required = true;
  made.run = [wanted, documents = std::move(documents)](const std::string&) {
    for (const auto& [each, make] : documents)
      if (each == *wanted) fmt::print("{}", make());
    return exit_pass;
  };
  return made;
}

}  // namespace

command manual_command(const std::vector<command>& all) {
  return printing("manual", "Print the manual page", "FORMAT", "Format",
                  {{"man", [&all] { return manual_page(all); }}, {"text", [&all] { return manual_text(all); }}});
}

command completion_command(const std::vector<command>& all) {
  return printing("completion", "Print the completions of a shell", "SHELL", "Shell",
                  {{"bash", [&all] { return bash_completion(all); }},
                   {"zsh", [&all] { return zsh_completion(all); }},
                   {"fish", [&all] { return fish_completion(all); }}});
}

command schema_command() {
  return printing("schema", "Print the JSON schema of reports", "KIND", "Kind of report",
                  {{"report", report_schema}, {"experiment", experiment_schema}});
}

}  // namespace qd1
