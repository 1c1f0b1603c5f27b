# test\windows\first_day\diskspd.ps1 DISKSPD QD1 [DIRECTORY]: the same reads by DiskSpd (github.com/microsoft/diskspd) and
# by qd1, on the same disk: 4 KiB, one at a time, without the cache. The medians should agree within a tenth; this prints
# both and judges nothing. Not run yet: see docs/windows.md.
param([Parameter(Mandatory)][string]$diskspd, [Parameter(Mandatory)][string]$qd1, [string]$directory = '.')
$ErrorActionPreference = 'Stop'
$file = Join-Path $directory 'diskspd.dat'
try {
  # -Sh: neither the cache nor write-back. -r: random. -L: latencies. -c: the size of the file. -Z: with random contents.
  & $diskspd -c1G -Z1M -b4K -r4K -o1 -t1 -w0 -Sh -L -d10 $file | Select-String 'total:|50th|99th|99.9'
} finally {
  Remove-Item $file -ErrorAction SilentlyContinue
}
& $qd1 run $directory --modes direct --ops read --block 4K --file-size 1G --time 10s
