// SPDX-License-Identifier: BSL-1.0
// Which series are shown side by side, and what distinguishes them.
#pragma once

#include "html.hpp"

#include <span>
#include <string>
#include <vector>

namespace qd1::html {

/// A series as it is drawn.
struct curve {
  const qd1::series* series;
  std::string name;        ///< "mapped, asynchronous"
  std::string short_name;  ///< where there is little room: "mapped async"
  std::string hue;         ///< a class of the style sheet: a mode, or "run2" of a comparison
  bool dashed = false;     ///< asynchronous: the same hue as the blocking one
  double trusted = 1;      ///< percentiles beyond may be the host's noise

  bool measured() const { return series->measured(); }
  /// Measured, and by the clock: there are latencies.
  bool timed() const { return measured() && series->latency.max > 0; }
  /// Measured, and its bins were kept.
  bool drawable() const { return measured() && !series->latency.bins.empty(); }
  /// The classes of whatever is drawn for it.
  std::string classes() const { return dashed ? hue + " dashed" : hue; }
};

/// Series of the same kind of work.
struct panel {
  std::string title;   ///< "Warm reads"
  std::string detail;  ///< what the title means
  std::vector<curve> curves;
  double floor_ns = 0;                                          ///< what reading the clock takes
  std::string strokes = "Solid blocking, dashed asynchronous";  ///< what a dashed curve is

  bool any_timed() const;
  bool any_drawable() const;
  /// The furthest that any of the curves can be trusted.
  double trusted() const;
};

/// The fraction up to which percentiles are not the host's noise.
double trusted(const series& which, const report& among);

/// For each kind of work, the modes side by side.
std::vector<panel> panels_of(const report& run);

/// For each kind of work and each mode, the runs side by side.
std::vector<panel> panels_of(std::span<const named_report> runs);

/// The estimate of that percentile, if there are samples for it.
const estimate* percentile_in(const series& from, double fraction);

/// The median, for which there are always samples enough to have a value.
inline const estimate* median(const series& from) { return percentile_in(from, 0.5); }

}  // namespace qd1::html
