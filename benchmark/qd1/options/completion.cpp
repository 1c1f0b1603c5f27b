// SPDX-License-Identifier: BSL-1.0
#include "options/documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qd1 {
namespace {

std::vector<std::string> names_of(const std::vector<command>& all) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const command& each : all) names.push_back(each.name);
  return names;
}

std::vector<std::string> names_of(const options& all) {
  std::vector<std::string> names;
  for (const option& each : all.all())
    if (!each.is_argument()) names.push_back(each.name);
  return names;
}

// In single quotes, for any of the shells. What is in brackets would mean something to zsh.
std::string quoted(const std::string& text) {
  std::string safe = "'";
  for (const char each : text) {
    if (each == '\n') break;
    if (each == '\'' || each == '[' || each == ']' || each == ':') continue;
    safe += each;
  }
  return safe + "'";
}

std::vector<std::string> argument_words(const command& of) {
  for (const option& each : of.options.all())
    if (each.is_argument() && !each.choices.empty()) return each.choices;
  return {};
}

}  // namespace

std::string bash_completion(const std::vector<command>& all) {
  std::string text = fmt::format(
      "# bash completion of qd1, printed by: qd1 completion bash\n"
      "_qd1() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=''\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}}$before in\n",
      fmt::join(names_of(all), " "));
  for (const command& each : all)
    for (const option& one : each.options.all())
      if (!one.is_argument() && !one.choices.empty())
        text += fmt::format("    {}{}) words='{}' ;;\n", each.name, one.name, fmt::join(one.choices, " "));
  text += "  esac\n  if [[ ! $words ]]; then\n    case ${COMP_WORDS[1]} in\n";
  for (const command& each : all) {
    std::vector<std::string> words = names_of(each.options);
    for (const std::string& word : argument_words(each)) words.push_back(word);
    text += fmt::format("      {}) words='{} --help' ;;\n", each.name, fmt::join(words, " "));
  }
  return text +
         "    esac\n"
         "    [[ $word == -* ]] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "  COMPREPLY+=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o filenames -F _qd1 qd1\n";
}

std::string zsh_completion(const std::vector<command>& all) {
  std::string text =
      "#compdef qd1\n# zsh completion of qd1, printed by: qd1 completion zsh\n_qd1() {\n  local -a commands=(\n";
  for (const command& each : all) text += fmt::format("    {}\n", quoted(each.name + "\\:" + each.help));
  text += "  )\n  if ((CURRENT == 2)); then\n    compadd -- ";
  text += fmt::format("{}\n    return\n  fi\n  case $words[2] in\n", fmt::join(names_of(all), " "));
  for (const command& each : all) {
    text += fmt::format("    {})\n      _arguments \\\n", each.name);
    for (const option& one : each.options.all()) {
      if (one.is_argument()) continue;
      std::string spec = fmt::format("{}[{}]", one.name, quoted(one.help).substr(1));
      spec.erase(spec.find('\''), 1);
      if (!one.value.empty())
        spec += one.choices.empty() ? fmt::format(":{}:_files", one.value)
                                    : fmt::format(":{}:({})", one.value, fmt::join(one.choices, " "));
      text += fmt::format("        '{}' \\\n", spec);
    }
    const auto words = argument_words(each);
    text += words.empty() ? "        '*:file:_files' ;;\n"
                          : fmt::format("        '*:word:({})' ;;\n", fmt::join(words, " "));
  }
  return text + "  esac\n}\n_qd1 \"$@\"\n";
}

std::string fish_completion(const std::vector<command>& all) {
  std::string text = "# fish completion of qd1, printed by: qd1 completion fish\n";
  for (const command& each : all)
    text += fmt::format("complete -c qd1 -n __fish_use_subcommand -a {} -d {}\n", each.name, quoted(each.help));
  for (const command& each : all)
    for (const option& one : each.options.all()) {
      if (one.is_argument()) continue;
      text += fmt::format("complete -c qd1 -n '__fish_seen_subcommand_from {}' -l {} -d {}", each.name,
                          one.name.substr(2), quoted(one.help));
      if (!one.choices.empty())
        text += fmt::format(" -x -a '{}'", fmt::join(one.choices, " "));
      else if (!one.value.empty())
        text += " -r";
      text += '\n';
    }
  return text;
}

}  // namespace qd1
