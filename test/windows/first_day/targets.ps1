# test\windows\first_day\targets.ps1 QD1 [DIRECTORY]: cold reads and whole disks, as an administrator. Exit status 1 if
# qd1 calls them invalid, or refuses them. Not run yet: see docs/windows.md.
param([Parameter(Mandatory)][string]$qd1, [string]$directory = '.')
$failed = 0
$letter = (Get-Item $directory).PSDrive.Name
foreach ($arguments in @(
    @($directory, '--modes', 'cached,mapped', '--reads', 'cold', '--advice', 'normal,random', '--file-size', '256M'),
    @("\\.\${letter}:", '--modes', 'direct'),
    @('\\.\PhysicalDrive0', '--modes', 'direct'))) {
  "== qd1 run $arguments"
  & $qd1 run @arguments --ops read --time 2s
  if ($LASTEXITCODE -ne 0) { $failed = 1 }
}
exit $failed
