// The history of contexts as a trace.
#include "world.hpp"
#include <qio/call.hpp>
#include <qio/trace_recorder.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace contract {

inline std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

PROMISE(keeps_operations, each_engine, "a trace has the last operations, in the order in which they ended") {
  qio::trace_recorder trace(10);
  CHECK(trace.operations().empty());
  auto context = w.new_context({.observer = &trace}).value();
  const std::string path = std::is_same_v<typename Where::engine, qio::simulated> ? "data" : w.where / "traced";
  auto file =
      qio::basic_file<typename Where::mode>::open(context, path, access::read_write, creation::if_needed).value();
  memory some(100);
  for (unsigned i = 0; i < 25; ++i) CHECK(context.run(file.async_write_at(i * 100, some.all())).value() == 100);
  CHECK(trace.count() == 25);
  const std::vector<qio::traced_operation> kept = trace.operations();
  REQUIRE(kept.size() == 10);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    CHECK(kept[i].kind == qio::operation_kind::write);
    CHECK(kept[i].file == path);
    CHECK(kept[i].offset == (i + 15) * 100);
    CHECK(kept[i].bytes == 100);
    CHECK(kept[i].transferred == 100);
    CHECK(!kept[i].failure);
    if (i != 0) CHECK(kept[i].started >= kept[i - 1].started + kept[i - 1].took);
  }
}

PROMISE(writes_traces, each_engine, "a trace as JSON has one row for each operation in flight at a time") {
  qio::trace_recorder trace;
  CHECK(trace.json() == "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n");
  auto context = w.new_context({.observer = &trace}).value();
  const std::string path = std::is_same_v<typename Where::engine, qio::simulated> ? "a\"b\n" : w.where / "a\"b\n";
  auto opened = qio::basic_file<typename Where::mode>::open(context, path, access::read_write, creation::if_needed);
  if (!opened) QIO_SKIP("a file with a quote and a line feed in its name: " + opened.error().message());
  memory some(100);
  for (int i = 0; i < 3; ++i) CHECK(context.run(opened.value().async_write_at(0, some.all(), {.durable = true})));
  std::string json = trace.json();
  CHECK(count_of(json, "\"ph\":\"X\"") == 3);
  CHECK(count_of(json, "\"tid\":1,") == 3);  // one after another
  CHECK(count_of(json, "\"ts\":0.000,") == 1);
  CHECK(count_of(json, "a\\\"b\\\\x0a\",\"offset\":0,\"bytes\":100,\"transferred\":100,") == 3);
  CHECK(count_of(json, "failure") == 0);

  // Two at the same time, from here on.
  auto first = qio::async_call(context, [] {});
  auto second = qio::async_call(context, [] {});
  first.start([](qio::result<void>) {});
  second.start([](qio::result<void>) {});
  context.run();
  json = trace.json();
  CHECK(count_of(json, "\"name\":\"call\"") == 2);
  CHECK(count_of(json, "\"tid\":2,") == 1);
}

PROMISE(keeps_none, each_engine, "a trace that keeps nothing counts nothing") {
  qio::trace_recorder trace(0);
  auto context = w.new_context({.observer = &trace}).value();
  const std::string path = std::is_same_v<typename Where::engine, qio::simulated> ? "data" : w.where / "traced";
  auto file =
      qio::basic_file<typename Where::mode>::open(context, path, access::read_write, creation::if_needed).value();
  memory some(100);
  CHECK(context.run(file.async_write_at(0, some.all())));
  CHECK(trace.count() == 0);
  CHECK(trace.operations().empty());
}

}  // namespace contract
