// Functions of a closed file that return no result end the program, where preconditions are checked.
#include "../../child_process.hpp"
#include "../world.hpp"

namespace contract {

#if QIO_CHECKS && !defined(__SANITIZE_THREAD__)

PROMISE(named_mistake, each_mode, "reading a property of a closed file ends the program with one line") {
  auto file = w.with(4096);
  REQUIRE(file.close());
  const auto says = [&](auto ask) {
    const auto ended = qio_test::ending_of([&] {
      ask();
      return 0;
    });
    CHECK(ended.status == -SIGABRT);
    return ended.said;
  };
  CHECK(says([&] { static_cast<void>(file.alignment()); }).starts_with("qio: alignment() was called on a file that"));
  CHECK(says([&] { static_cast<void>(file.is_direct()); }).starts_with("qio: is_direct() was called"));
  CHECK(says([&] { static_cast<void>(file.is_uncached()); }).starts_with("qio: is_uncached() was called"));
  CHECK(says([&] { static_cast<void>(file.native_handle()); }).starts_with("qio: native_handle() was called"));
  CHECK(says([&] { static_cast<void>(file.explain()); }).starts_with("qio: explain() was called"));
}

#endif

}  // namespace contract
