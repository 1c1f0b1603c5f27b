// A 32-bit build without large-file support would truncate offsets. Here a macro makes off_t as short as it is there.
// expect: file offsets have 32 bits in this build: compile with -D_FILE_OFFSET_BITS=64
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef QIO_CONTROL
#define off_t int
#endif
#include <qio/system/posix/handle.hpp>
