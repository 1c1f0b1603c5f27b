// SPDX-License-Identifier: BSL-1.0
// The answer of explain(): what is active, and why anything is not.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qio {

/// One line: "engine: pool (io_uring is forbidden: …)".
struct fact {
  std::string name;    ///< "engine", "alignment", "inline reads" …
  std::string value;   ///< "io_uring", "512", "off" …
  std::string reason;  ///< why it is so, where it is not what was asked for or could be better; else empty
};

/// Facts in the order in which a person would ask for them. For people, logs and bug reports; names and values are
/// stable enough to be looked for, reasons are not.
class explanation {
 public:
  void add(std::string name, std::string value, std::string reason = {}) {
    facts_.push_back({std::move(name), std::move(value), std::move(reason)});
  }

  const std::vector<fact>& facts() const noexcept { return facts_; }

  /// The fact of that name, or null. Valid as long as this explanation.
  const fact* find(std::string_view name) const noexcept {
    for (const fact& candidate : facts_)
      if (candidate.name == name) return &candidate;
    return nullptr;
  }

  /// A line a fact.
  std::string text() const {
    std::string lines;
    for (const fact& each : facts_) {
      lines += each.name + ": " + each.value;
      if (!each.reason.empty()) lines += " (" + each.reason + ")";
      lines += '\n';
    }
    return lines;
  }

 private:
  std::vector<fact> facts_;
};

}  // namespace qio
