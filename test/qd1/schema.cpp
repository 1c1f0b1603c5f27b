// SPDX-License-Identifier: BSL-1.0
// The published schemas, and that the registries they come from miss nothing.
#include "output/schema.hpp"

#include "catch.hpp"
#include "program.hpp"
#include "report_fields.hpp"
#include "reproduce/reproduction_fields.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace qd1_test;

const fs::path docs = fs::path(QD1_REPORTS).parent_path().parent_path().parent_path() / "docs";

// The listed members, in whatever order, fill the struct but for padding.
template <class Struct>
bool lists_all_members() {
  struct part {
    std::size_t begin, size, alignment;
  };
  const Struct object{};
  const auto* const start = reinterpret_cast<const char*>(&object);
  std::vector<part> parts;
  const auto add = [&]<class Type>(Type Struct::*pointer) {
    const auto at = static_cast<std::size_t>(reinterpret_cast<const char*>(&(object.*pointer)) - start);
    parts.push_back({at, sizeof(Type), alignof(Type)});
  };
  std::apply(
      [&](const auto&... each) {
        const auto add_member = [&](const auto& one) {
          if constexpr (requires { one.pointer; }) add(one.pointer);
        };
        (add_member(each), ...);
      },
      qd1::fields<Struct>::list);
  std::ranges::sort(parts, {}, &part::begin);
  std::size_t end = 0;
  for (const part& each : parts) {
    if (each.begin != (end + each.alignment - 1) / each.alignment * each.alignment) return false;
    end = each.begin + each.size;
  }
  return sizeof(Struct) == (end + alignof(Struct) - 1) / alignof(Struct) * alignof(Struct);
}

TEST_CASE("the published schemas are those of this qd1 (else: qd1 schema report > docs/report.schema.json)") {
  CHECK(contents(docs / "report.schema.json") == qd1::report_schema());
  CHECK(contents(docs / "experiment.schema.json") == qd1::experiment_schema());
}

TEST_CASE("the registry of a report's members misses none") {
  CHECK(lists_all_members<qd1::load>());
  CHECK(lists_all_members<qd1::work>());
  CHECK(lists_all_members<qd1::interval>());
  CHECK(lists_all_members<qd1::estimate>());
  CHECK(lists_all_members<qd1::percentile>());
  CHECK(lists_all_members<qd1::bin>());
  CHECK(lists_all_members<qd1::latency>());
  CHECK(lists_all_members<qd1::slice>());
  CHECK(lists_all_members<qd1::disturbance>());
  CHECK(lists_all_members<qd1::round_percentile>());
  CHECK(lists_all_members<qd1::round>());
  CHECK(lists_all_members<qd1::loop_stall>());
  CHECK(lists_all_members<qd1::service>());
  CHECK(lists_all_members<qd1::verification>());
  CHECK(lists_all_members<qd1::shortage>());
  CHECK(lists_all_members<qd1::contribution>());
  CHECK(lists_all_members<qd1::series>());
  CHECK(lists_all_members<qd1::timer_facts>());
  CHECK(lists_all_members<qd1::noise>());
  CHECK(lists_all_members<qd1::settings>());
  CHECK(lists_all_members<qd1::run_memory>());
  CHECK(lists_all_members<qd1::publication>());
  CHECK(lists_all_members<qd1::figures_row>());
  CHECK(lists_all_members<qd1::figures>());
  CHECK(lists_all_members<qd1::shape>());
  CHECK(lists_all_members<qd1::reproduction>());
}

}  // namespace
