// SPDX-License-Identifier: BSL-1.0
// How figures and remarks are worded in a terminal.
#pragma once

#include "report.hpp"

#include <string>
#include <vector>

namespace qd1 {

/// Four digits that tell, at whatever magnitude.
std::string digits(double value);
std::string microseconds(double ns);

/// Up to which of the usual percentiles a series can be trusted: "p99.9", "nothing"; empty: not known.
std::string trusted_percentile(const series& each);

/// By which paths operations were served: "  inline 98.4%  ring 1.56%".
std::string path_text(const service& service);

/// Lines of at most 100 columns, broken between words, those after the first indented.
std::string wrapped(const std::string& text);

/// What has to be said about one series, a line each, but for the device's side of it.
std::vector<std::string> remarks(const series& each);

}  // namespace qd1
