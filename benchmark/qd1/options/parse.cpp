// SPDX-License-Identifier: BSL-1.0
// The only source that includes CLI11.
#include "options/parse.hpp"

#include "failure.hpp"
#include "options/documents.hpp"
#include "options/separate_files.hpp"
#include "options/suggestion.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace qd1 {
namespace {

// The help is the manual's.
class documented : public CLI::FormatterBase {
 public:
  explicit documented(const program& program) : program_(program) {}

  std::string make_help(const CLI::App* of, std::string, CLI::AppFormatMode) const override {
    for (const command& each : program_.commands)
      if (each.name == of->get_name()) return help_text(each);
    return help_text(program_.commands);
  }

 private:
  const program& program_;
};

void add(CLI::App& to, const option& from) {
  if (from.value.empty()) {
    CLI::Option* const flag = to.add_flag_callback(
        from.name, [&from] { from.take({}); }, from.help);
    if (!from.needs.empty()) flag->needs(to.get_option(from.needs));
    return;
  }
  CLI::callback_t take = [&from](const CLI::results_t& typed) {
    if (typed.size() < from.least)
      throw usage_error(from.name + ": " + std::to_string(typed.size()) + " given; at least " +
                        std::to_string(from.least) + " are needed");
    from.take(typed);
    return true;
  };
  CLI::Option* const added = to.add_option(from.name, std::move(take), from.help);
  added->type_name(from.value)->type_size(static_cast<int>(from.values));
  if (from.is_argument() && from.most > 1)
    added->expected(static_cast<int>(std::max<std::size_t>(from.least, 1)), static_cast<int>(from.most))
        ->allow_extra_args();
  if (from.most > 1)
    added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  else if (!from.is_argument() && from.values == 1)
    added->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  if (from.required || from.least > 0) added->required();
  if (!from.preset.empty()) added->default_str(from.preset);
  if (!from.needs.empty()) added->needs(to.get_option(from.needs));
}

// Throws usage_error for options that cannot be given together.
void require_agreement(const CLI::App& given, const command& of) {
  const auto is_given = [&](const std::string& name) { return given.get_option(name)->count() != 0; };
  for (const option& each : of.options.all())
    for (const std::string& other : each.instead_of)
      if (is_given(each.name) && is_given(other))
        throw usage_error(fmt::format("{} cannot be given with {}, which decides {}; leave out one of the two", other,
                                      each.name, each.decides));
}

// Throws usage_error where one of the outputs would destroy a file that the command also uses.
void require_separate_files(const CLI::App& given, const command& of) {
  std::vector<named_file> files;
  for (const option& each : of.options.all()) {
    if (!each.names_file()) continue;
    const std::vector<std::string>& typed = given.get_option(each.name)->results();
    for (std::size_t at = 0; at < typed.size(); at += each.values) files.push_back({&each, typed[at]});
  }
  qd1::require_separate_files(files);
}

}  // namespace

parsed parse(const program& program, int argc, const char* const* argv) {
  CLI::App app(program.about, program.name);
  app.set_version_flag("--version", program.name + " " + program.version);
  app.require_subcommand(1);
  app.formatter(std::make_shared<documented>(program));
  for (const command& each : program.commands) {
    CLI::App& added = *app.add_subcommand(each.name, each.help);
    if (each.hidden) added.group("");
    for (const option& one : each.options.all()) add(added, one);
  }
  if (argc > 1 && *argv[1] != '-' &&
      std::ranges::find(program.commands, argv[1], &command::name) == program.commands.end())
    throw usage_error(std::string(argv[1]) + " is not a command" + did_you_mean(argv[1], program.commands) +
                      " See qd1 --help");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    return {nullptr, app.exit(failure) == 0 ? exit_pass : exit_usage};
  }
  for (const command& each : program.commands)
    if (app.got_subcommand(each.name)) {
      require_agreement(*app.get_subcommand(each.name), each);
      require_separate_files(*app.get_subcommand(each.name), each);
      return {&each, exit_pass};
    }
  return {nullptr, exit_usage};
}

}  // namespace qd1
