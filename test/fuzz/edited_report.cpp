// A report in which values have been replaced, removed and repeated: always JSON, and nearly always a report.
#include "fuzz.hpp"
#include "reading.hpp"
#include "sample.hpp"

#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

const json& sample() {
  static const json read = json::parse(fuzz::sample_report());
  return read;
}

void collect(json& value, std::vector<json*>& all) {
  all.push_back(&value);
  for (json& each : value)
    if (each.is_structured()) {
      collect(each, all);
    } else {
      all.push_back(&each);
    }
}

json other_value(fuzz::input& from) {
  switch (from.below(8)) {
    case 0: return nullptr;
    case 1: return from.below(2) == 1;
    case 2: return from.bits();
    case 3: return static_cast<std::int64_t>(from.bits());
    case 4: {
      const auto number = std::bit_cast<double>(from.bits());
      return std::isfinite(number) ? json(number) : json(1e308);
    }
    case 5: return from.below(10);
    case 6: return json::array();
    default: return std::string(from.some(from.below(40)));
  }
}

void edit(json& report, fuzz::input& from) {
  std::vector<json*> all;
  collect(report.at("qio"), all);
  json& chosen = *all[from.below(all.size())];
  const std::size_t how = from.below(4);
  if (how == 0 && chosen.is_array() && !chosen.empty())
    chosen.push_back(json(chosen[from.below(chosen.size())]));
  else if (how == 1 && chosen.is_array() && !chosen.empty())
    chosen.erase(from.below(chosen.size()));
  else if (how == 2 && chosen.is_object() && !chosen.empty())
    chosen.erase(std::next(chosen.begin(), static_cast<std::ptrdiff_t>(from.below(chosen.size()))));
  else
    chosen = other_value(from);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input from(data, size);
  json report = sample();
  while (!from.empty()) edit(report, from);
  fuzz::use_report(report.dump(-1, ' ', false, json::error_handler_t::replace));
  return 0;
}
