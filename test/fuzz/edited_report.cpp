// A report with replaced, removed and repeated values: always JSON, and usually a report.
#include "fuzz.hpp"
#include "reading.hpp"
#include "sample.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using nlohmann::json;

// A short one, nearly always, and whole ones, which take as long as many short ones.
const json& sample(std::size_t chosen) {
  static const std::array<json, 3> all = {json::parse(fuzz::sample_report()),
                                          json::parse(fuzz::sample_report(QIO_FUZZ_REPORTS "/linux.json")),
                                          json::parse(fuzz::sample_report(QIO_FUZZ_REPORTS "/wine.json"))};
  return all[chosen < all.size() ? chosen : 0];
}

// Where types, sums and loops end.
json boundary(fuzz::input& from) {
  constexpr std::uint64_t one = 1;
  constexpr std::array<std::uint64_t, 10> whole = {
      0, 1, one << 31, one << 32, one << 50, (one << 50) + 1, one << 53, one << 63, (one << 63) - 1, ~std::uint64_t(0)};
  constexpr std::array<double, 8> broken = {-0.0, 5e-324, 0.5, 9e15, 9.3e18, 1e300, -1e300, -1};
  const std::size_t chosen = from.below(whole.size() + broken.size());
  return chosen < whole.size() ? json(whole[chosen]) : json(broken[chosen - whole.size()]);
}

// Text that would command a terminal, a page or a shell.
json command(fuzz::input& from) {
  constexpr std::array<std::string_view, 6> all = {"\x1b]52;c;YQ==\x07",
                                                   "\xc2\x9b"
                                                   "2J",
                                                   "\xe2\x80\xae",
                                                   "</script><script>",
                                                   "$(reboot)",
                                                   "\nVERIFIED"};
  return std::string(all[from.below(all.size())]);
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

void edit(json& report, fuzz::input& from, bool to_limits) {
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
    chosen = !to_limits ? other_value(from) : from.below(3) != 0 ? boundary(from) : command(from);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input from(data, size);
  const std::size_t chosen = from.below(256);
  json report = sample(chosen % 128);
  while (!from.empty()) edit(report, from, chosen >= 128);
  fuzz::use_report(report.dump(-1, ' ', false, json::error_handler_t::replace));
  return 0;
}
