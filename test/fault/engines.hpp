// The same check on a context of each engine that is available here.
#pragma once

#include <qio/qio.hpp>

namespace fault {

template <class Check>
void on_every_engine(Check check) {
  for (const auto kind : {qio::engine_kind::ring, qio::engine_kind::aio, qio::engine_kind::workers}) {
    auto context = qio::context::create({.engine = kind});
    if (context) check(context.value());
  }
}

}  // namespace fault
