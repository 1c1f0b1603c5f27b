// plug_in_host PLUG_IN FILE: loads the plug-in, uses it and unloads it, many times, while it has a context of its own.
#include <qio/qio.hpp>

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdio>

int main(int, char** arguments) {
  auto context = qio::context::create().value();
  auto own = qio::cached_file::open(context, arguments[2], qio::access::read_write, qio::creation::always_new).value();
  std::array<std::byte, 512> block{};
  for (int repeated = 0; repeated < 50; ++repeated) {
    void* const library = ::dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::printf("cannot load it: %s\n", ::dlerror());
      return 1;
    }
    int (*use)(const char*) = nullptr;
    *reinterpret_cast<void**>(&use) = ::dlsym(library, "use_qio");
    const int failure = use == nullptr ? -1 : use(arguments[2]);
    ::dlclose(library);
    if (failure != 0) {
      std::printf("the plug-in fails: %d\n", failure);
      return 1;
    }
    if (::dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) != nullptr) {
      std::printf("the plug-in stays loaded, so nothing was tested\n");
      return 1;
    }
    if (!context.run(own.async_write_at(0, block)) || !context.run(own.async_sync())) {
      std::printf("the context of the program fails\n");
      return 1;
    }
  }
}
