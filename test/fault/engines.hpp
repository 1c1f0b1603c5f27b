// The same check on a context of each engine that is available here.
#pragma once

#include <qio/qio.hpp>

namespace fault {

template <class Engine, class Check>
void with_context(Check check) {
  auto context = qio::basic_context<Engine>::create();
  if (context) check(context.value());
}

template <class Check>
void on_every_engine(Check check) {
#if QIO_HAS_URING
  with_context<qio::uring>(check);
#endif
  with_context<qio::pool>(check);
}

}  // namespace fault
