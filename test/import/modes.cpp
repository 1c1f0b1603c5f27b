// Templates over modes and engines, in a unit that has used files on a context before: see the end of module/qio.cppm.
#include <cstddef>
#include <span>

import qio;

bool reads(qio::context& context);
bool opens_in_each_mode(qio::context& context);
bool opens_on_each_engine(qio::context& context, qio::basic_context<qio::simulated>& simulated);

bool reads(qio::context& context) {
  std::byte read[1];
  auto file = qio::cached_file::open(context, "data");
  return file && context.run(file.value().async_read_at(0, std::span<std::byte>(read))) &&
         qio::temporary_file<>::create(context);
}

namespace {

template <class Mode>
bool opens_in(qio::context& context) {
  return qio::basic_file<Mode>::open("data") && qio::basic_file<Mode>::open(context, "data") &&
         qio::temporary_file<Mode>::create() && qio::temporary_file<Mode>::create(context);
}

template <qio::engine Engine>
bool opens_on(qio::basic_context<Engine>& context) {
  return qio::cached_file::open(context, "data").has_value();
}

}  // namespace

bool opens_in_each_mode(qio::context& context) {
  return opens_in<qio::cached>(context) && opens_in<qio::uncached>(context) && opens_in<qio::direct>(context) &&
         opens_in<qio::mapped>(context);
}

bool opens_on_each_engine(qio::context& context, qio::basic_context<qio::simulated>& simulated) {
  return opens_on(context) && opens_on(simulated);
}
