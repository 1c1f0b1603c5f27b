// SPDX-License-Identifier: BSL-1.0
#include "output/json.hpp"

#include "fields/json.hpp"
#include "findings/kind.hpp"
#include "output/fio.hpp"
#include "output/report_text.hpp"
#include "report_fields.hpp"
#include "text/printable.hpp"

#include <boost/crc.hpp>
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qd1 {

using nlohmann::ordered_json;

namespace {

void require_unchanged(const nlohmann::json& read) {
  const std::string written = read.value("checksum", "");
  // An earlier version wrote none of these.
  if (written.empty() && !read.contains("kind") && read.value("runs", std::vector<std::string>()).empty()) return;
  if (written.empty()) throw usage_error("checksum: missing; the report was changed");
  if (const std::string found = checksum_of(read); written != found)
    throw usage_error(
        fmt::format("checksum: {} in the report, {} by its contents: the report was changed", written, found));
}

// The reason may quote what was found.
std::string brief(std::string_view why) {
  constexpr std::size_t most = 1000;
  return printable_line(why.substr(0, most)) + (why.size() > most ? " …" : "");
}

}  // namespace

// Members in the order of their names, control characters printable.
std::string checksum_of(nlohmann::json own) {
  own.erase("checksum");
  const std::string text = own.dump();
  boost::crc_32_type sum;
  sum.process_bytes(text.data(), text.size());
  return fmt::format("{:08x}", sum.checksum());
}

std::string json(const report& report) {
  ordered_json out = fio_output(report);
  ordered_json own = json_of::written<ordered_json>(report);
  own["checksum"] = checksum_of(parse_own_report(own.dump(-1, ' ', false, ordered_json::error_handler_t::replace)));
  out["qio"] = std::move(own);
  // A path may be no UTF-8.
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

report report_of(const nlohmann::json& own) {
  if (own.is_object()) require_unchanged(own);
  report found;
  json_of::read(own, found);
  if (!own.contains("kind")) found.kind = kind_by_series(found);
  check(found);
  found.advice = advise(found.machine);
  return found;
}

report read_json(const std::string& text, const std::string& source) {
  try {
    return report_of(parse_report(text).at("qio"));
  } catch (const nlohmann::json::exception& failure) {
    throw usage_error(source + ": not a report of qd1: " + brief(failure.what()));
  } catch (const usage_error& failure) {
    throw usage_error(source + ": not a report of this qd1: " + brief(failure.what()));
  }
}

}  // namespace qd1
