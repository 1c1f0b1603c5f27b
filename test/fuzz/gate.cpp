// Gates, and the names of figures in them.
#include "compare/gate.hpp"

#include "failure.hpp"
#include "figures.hpp"
#include "fuzz.hpp"
#include "output/json.hpp"
#include "sample.hpp"

#include <cmath>

namespace {

const qd1::report& sample() {
  static const qd1::report read = qd1::read_json(fuzz::sample_report(), "the sample");
  return read;
}

void check(const qd1::gate& gate) {
  try {
    const auto results = gate.relative ? qd1::check_against(gate, sample(), sample()) : qd1::check(gate, sample());
    fuzz::require(!results.empty(), "a gate reports on each series that it selects");
  } catch (const qd1::usage_error&) {
    return;  // it selects no series
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const qd1::gate gate = qd1::parse_gate(fuzz::input(data, size).rest());
    fuzz::require(std::isfinite(gate.limit) && gate.limit >= 0, "a limit is finite and not negative");
    qd1::require_metric(gate.metric);
    check(gate);
  } catch (const qd1::usage_error&) {
    return 0;
  }
  return 0;
}
