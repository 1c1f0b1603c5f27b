// SPDX-License-Identifier: BSL-1.0
#include "output/json.hpp"

#include "fields/json.hpp"
#include "output/fio.hpp"
#include "output/report_text.hpp"
#include "report_fields.hpp"

namespace qd1 {

using nlohmann::ordered_json;

std::string json(const report& report) {
  ordered_json out = fio_output(report);
  out["qio"] = json_of::written<ordered_json>(report);
  // A path may be no UTF-8.
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

report read_json(const std::string& text, const std::string& source) {
  try {
    report found;
    json_of::read(ordered_json(parse_report(text).at("qio")), found);
    check(found);
    found.advice = advise(found.machine);
    return found;
  } catch (const nlohmann::json::exception& failure) {
    throw usage_error(source + ": not a report of qd1: " + failure.what());
  } catch (const usage_error& failure) {
    throw usage_error(source + ": not a report of this qd1: " + failure.what());
  }
}

}  // namespace qd1
