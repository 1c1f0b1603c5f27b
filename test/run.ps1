# test\run.ps1 [CTEST-ARGUMENT...]: builds and runs the tests with what this Windows has. It installs nothing: what is
# missing, it names. Not tested on Windows yet: see docs/windows.md.
$ErrorActionPreference = 'Stop'
$root = Split-Path $PSScriptRoot
. (Join-Path $root 'cmake\require.ps1')
require 'test\run.ps1' 'cmake', 'ctest' 'boost-outcome fmt catch2 cli11 nlohmann-json'

Push-Location $root
try {
  cmake --preset msvc
  if ($LASTEXITCODE -eq 0) { cmake --build --preset msvc }
  if ($LASTEXITCODE -eq 0) { ctest --preset msvc @args }
  exit $LASTEXITCODE
} finally {
  Pop-Location
}
