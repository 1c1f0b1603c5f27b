# benchmark\run.ps1 [ARGUMENT...]: builds qd1 with what this Windows has, and runs it here, in the current directory. It
# installs nothing: what is missing, it names. Not tested on Windows yet: see docs/windows.md.
#   benchmark\run.ps1                      direct, cached and mapped I/O side by side on a temporary file
#                                          and the report as a page, qd1-report.html
#   benchmark\run.ps1 D:\data --seed 7     the arguments of `qd1 run`
#   benchmark\run.ps1 env                  any other command of qd1
$ErrorActionPreference = 'Stop'
$root = Split-Path $PSScriptRoot
. (Join-Path $root 'cmake\require.ps1')
require 'benchmark\run.ps1' 'cmake' 'boost-outcome fmt cli11 nlohmann-json'

Push-Location $root
try {
  cmake --preset msvc-benchmark | Out-Host
  if ($LASTEXITCODE -eq 0) { cmake --build --preset msvc-benchmark | Out-Host }
  if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
} finally {
  Pop-Location
}

$arguments = $args
if ($args.Count -eq 0) { $arguments = 'run', '--html', 'qd1-report.html' }
elseif ($args[0] -notin 'run', 'depth', 'memory', 'watch', 'reproduce', 'env', 'selftest', 'compare', 'merge', 'manual', 'completion', 'schema', 'help', '-h', '--help', '--version') { $arguments = @('run') + $args }
& (Join-Path $root 'build\msvc-benchmark\benchmark\qd1\Release\qd1.exe') @arguments
exit $LASTEXITCODE
