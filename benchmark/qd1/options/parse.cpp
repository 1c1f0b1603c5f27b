// SPDX-License-Identifier: BSL-1.0
// The only source that includes CLI11.
#include "options/parse.hpp"

#include "failure.hpp"
#include "options/documents.hpp"
#include "options/suggestion.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

namespace qd1 {
namespace {

// The help is the manual's.
class documented : public CLI::FormatterBase {
 public:
  explicit documented(const program& program) : program_(program) {}

  std::string make_help(const CLI::App* of, std::string, CLI::AppFormatMode) const override {
    for (const command& each : program_.commands)
      if (each.name == of->get_name()) return help_text(each, program_.columns);
    return help_text(program_.commands, program_.columns);
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

std::vector<named_file> files_of(const CLI::App& given, const command& of) {
  std::vector<named_file> files;
  for (const option& each : of.options.all()) {
    if (!each.names_file()) continue;
    const std::vector<std::string>& typed = given.get_option(each.name)->results();
    for (std::size_t at = 0; at < typed.size(); at += each.values) files.push_back({&each, typed[at]});
  }
  return files;
}

const command* command_named(const program& program, std::string_view name) {
  const auto found = std::ranges::find(program.commands, name, &command::name);
  return found == program.commands.end() ? nullptr : &*found;
}

const command& require_command(const program& program, const char* typed) {
  if (const command* const found = command_named(program, typed)) return *found;
  throw usage_error(fmt::format("{} is not a command{} See qd1 --help", typed, did_you_mean(typed, program.commands)));
}

// Whether it is an option of any command: not a value, such as "-", nor the end of the options.
bool is_option(std::string_view typed) {
  return typed.size() > 1 && typed[0] == '-' && typed != "--" && (typed[1] < '0' || typed[1] > '9') && typed[1] != '.';
}

// Throws usage_error for one that the command does not have.
void require_options(const command* of, std::span<const char* const> typed) {
  std::vector<std::string> known = {"--help"};
  if (of == nullptr)
    known.emplace_back("--version");
  else
    for (const option& each : of->options.all())
      if (!each.is_argument()) known.push_back(each.name);
  for (const char* const each : typed) {
    if (std::string_view(each) == "--") return;
    const std::string name(std::string_view(each).substr(0, std::string_view(each).find('=')));
    if (!is_option(name) || name == "-h" || std::ranges::find(known, name) != known.end()) continue;
    const std::string own = of == nullptr ? "qd1" : "qd1 " + of->name;
    throw usage_error(fmt::format("{} has no option {}{} See {} --help", own, name, did_you_mean(name, known), own));
  }
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
  std::vector<const char*> typed(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {  // qd1 help run: qd1 run --help
    typed.erase(typed.begin() + 1);
    if (argc > 2) require_command(program, argv[2]);
    typed.resize(std::min<std::size_t>(typed.size(), 2));
    typed.push_back("--help");
  } else if (argc > 1) {
    const command* const of = *argv[1] == '-' ? nullptr : &require_command(program, argv[1]);
    require_options(of, std::span(typed).subspan(of == nullptr ? 1 : 2));
  }
  try {
    app.parse(static_cast<int>(typed.size()), typed.data());
  } catch (const CLI::ParseError& failure) {
    return {nullptr, app.exit(failure) == 0 ? exit_pass : exit_usage};
  }
  for (const command& each : program.commands)
    if (app.got_subcommand(each.name)) {
      require_agreement(*app.get_subcommand(each.name), each);
      return {&each, exit_pass, files_of(*app.get_subcommand(each.name), each)};
    }
  return {nullptr, exit_usage};
}

}  // namespace qd1
