// SPDX-License-Identifier: BSL-1.0
// Every call to Windows that the library makes on files, their memory and completion ports. All such calls go through
// this namespace, so that a test can put a header of the same name before this one and simulate Windows.
#pragma once

#include <qio/configuration.hpp>

// Only the core of Windows' headers, without the macros min and max.
#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>

namespace qio::inline QIO_CONFIGURATION::platform::calls {

using ::CancelIoEx;
using ::CloseHandle;
using ::CreateEventW;
using ::CreateFileMappingW;
using ::CreateFileW;
using ::CreateIoCompletionPort;
using ::DeleteFileW;
using ::FlushFileBuffers;
using ::FlushViewOfFile;
using ::GetDiskFreeSpaceW;
using ::GetFileAttributesW;
using ::GetFileInformationByHandle;
using ::GetFileInformationByHandleEx;
using ::GetFileSizeEx;
using ::GetFileType;
using ::GetFinalPathNameByHandleW;
using ::GetFullPathNameW;
using ::GetLastError;
using ::GetOverlappedResult;
using ::GetQueuedCompletionStatusEx;
using ::GetVolumePathNameW;
using ::MapViewOfFileEx;
using ::MoveFileExW;
using ::PostQueuedCompletionStatus;
using ::ReadFile;
using ::ResetEvent;
using ::SetEvent;
using ::SetFileAttributesW;
using ::SetFileCompletionNotificationModes;
using ::SetFileInformationByHandle;
using ::UnmapViewOfFile;
using ::WriteFile;

}  // namespace qio::inline QIO_CONFIGURATION::platform::calls
