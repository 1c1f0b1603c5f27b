# test\run.ps1 [CTEST-ARGUMENT...]: builds and runs the tests with what this Windows has. It installs nothing: what is
# missing, it names. Not tested on Windows yet: see docs/windows.md.
$ErrorActionPreference = 'Stop'
$root = Split-Path $PSScriptRoot

$missing = @()
foreach ($tool in 'cmake', 'ctest') {
  if (-not (Get-Command $tool -ErrorAction SilentlyContinue)) { $missing += "$tool (CMake 3.25 or later)" }
}
$vswhere = Join-Path ${env:ProgramFiles(x86)} 'Microsoft Visual Studio\Installer\vswhere.exe'
$compiler = if (Test-Path $vswhere) {
  & $vswhere -latest -products * -requires Microsoft.VisualStudio.Component.VC.Tools.x86.x64 -property installationPath
}
if (-not $compiler) { $missing += 'Visual Studio 2022 or its Build Tools, with C++' }
if (-not $env:VCPKG_ROOT) {
  $missing += 'VCPKG_ROOT, a vcpkg that has: vcpkg install --triplet x64-windows boost-outcome fmt catch2'
}
if ($missing) {
  Write-Host 'test\run.ps1: missing:'
  $missing | ForEach-Object { Write-Host "  $_" }
  exit 3
}

Push-Location $root
try {
  cmake --preset msvc
  if ($LASTEXITCODE -eq 0) { cmake --build --preset msvc }
  if ($LASTEXITCODE -eq 0) { ctest --preset msvc @args }
  exit $LASTEXITCODE
} finally {
  Pop-Location
}
