// SPDX-License-Identifier: BSL-1.0
// The result of explain(): what is active, and why the rest is not.
#pragma once

#include <qio/configuration.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE

/// One line: "fallback: from io_uring (io_uring is forbidden: ...)".
struct fact {
  std::string name;    ///< "engine", "alignment", "inline reads" ...
  std::string value;   ///< "io_uring", "512", "off" ...
  std::string reason;  ///< why, if this is not what was requested or could be better; otherwise empty
};

/// What explain() returns: facts, the most important first. For people, logs and bug reports. Programs may rely on
/// names and values, which are stable, but not on reasons.
class explanation {
 public:
  /// Appends a fact. Allocates.
  void add(std::string name, std::string value, std::string reason = {}) {
    facts_.push_back({std::move(name), std::move(value), std::move(reason)});
  }

  /// All of them, in order.
  const std::vector<fact>& facts() const noexcept { return facts_; }

  /// The fact of that name, or null. Valid until this object changes or is destroyed.
  const fact* find(std::string_view name) const noexcept {
    for (const fact& candidate : facts_)
      if (candidate.name == name) return &candidate;
    return nullptr;
  }

  /// All facts, one per line. Allocates.
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

QIO_END_NAMESPACE
