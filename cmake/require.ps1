# Dot-sourced by benchmark\run.ps1 and test\run.ps1: names what a build by MSVC needs and this Windows has not, and ends
# the script then.
function require([string]$script, [string[]]$tools, [string]$libraries) {
  $missing = @()
  foreach ($tool in $tools) {
    if (-not (Get-Command $tool -ErrorAction SilentlyContinue)) { $missing += "$tool (CMake 3.25 or later)" }
  }
  $vswhere = Join-Path ${env:ProgramFiles(x86)} 'Microsoft Visual Studio\Installer\vswhere.exe'
  $compiler = if (Test-Path $vswhere) {
    & $vswhere -latest -products * -requires Microsoft.VisualStudio.Component.VC.Tools.x86.x64 -property installationPath
  }
  if (-not $compiler) { $missing += 'Visual Studio 2022 or its Build Tools, with C++' }
  if (-not $env:VCPKG_ROOT) {
    $missing += "VCPKG_ROOT, a vcpkg that has: vcpkg install --triplet x64-windows $libraries"
  }
  if ($missing) {
    Write-Host "${script}: missing:"
    $missing | ForEach-Object { Write-Host "  $_" }
    exit 3
  }
}
