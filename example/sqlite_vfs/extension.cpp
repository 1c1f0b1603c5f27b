// The VFS as an extension that SQLite loads: sqlite3 ':memory:' '.load ./libqio_sqlite_vfs' '.open file:my.db?vfs=qio'
#include "vfs.hpp"

#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT1

extern "C" __attribute__((visibility("default"))) int sqlite3_extension_init(sqlite3*, char** error,
                                                                             const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api)
  static const sqlite_vfs::vfs<sqlite_vfs::of_the_system> registered("qio", {});
  if (registered.is_registered()) return SQLITE_OK_LOAD_PERMANENTLY;  // it stays when the connection is closed
  *error = sqlite3_mprintf("cannot register the VFS qio");
  return SQLITE_ERROR;
}
