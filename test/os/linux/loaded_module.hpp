// A shared library that is loaded at run time, and unloaded again.
#pragma once

#include <dlfcn.h>

namespace qio_test {

class loaded_module {
 public:
  explicit loaded_module(const char* path) : handle_(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {}
  loaded_module(const loaded_module&) = delete;
  loaded_module& operator=(const loaded_module&) = delete;
  ~loaded_module() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  bool exists() const { return handle_ != nullptr; }

  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  void* handle_;
};

}  // namespace qio_test
