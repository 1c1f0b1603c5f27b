# test\windows\first_day\facts.ps1 QD1 [DIRECTORY]: what qd1 finds out about the machine, beside what Windows tells an
# administrator by other ways. Prints a line for each fact; exit status 1 if one contradicts the other. What either does
# not know contradicts nothing. Not run yet: see docs/windows.md.
param([Parameter(Mandatory)][string]$qd1, [string]$directory = '.')
$ErrorActionPreference = 'Stop'
$found = & $qd1 env $directory --json - | ConvertFrom-Json
$system = $found.machine.host
$volume = $found.machine.devices | Where-Object kind -eq 'partition' | Select-Object -First 1
$disk = $found.machine.devices | Where-Object kind -eq 'disk' | Select-Object -First 1
$letter = (Get-Item $directory).PSDrive.Name
$contradictions = 0

# Whatever Windows says: none where it does not know, or may not be asked.
function Told([scriptblock]$how) { try { & $how } catch { $null } }

function Compare-Fact([string]$name, $ours, $theirs) {
  $verdict = if ($null -eq $ours -or $null -eq $theirs) { 'not compared' } elseif ($ours -eq $theirs) { 'agrees' } else { 'CONTRADICTS' }
  if ($verdict -eq 'CONTRADICTS') { $script:contradictions++ }
  '{0,-28} {1,-12} qd1: {2}; Windows: {3}' -f $name, $verdict, $ours, $theirs
}

$guard = Told { Get-CimInstance -Namespace root\Microsoft\Windows\DeviceGuard -ClassName Win32_DeviceGuard }
# SecurityServicesRunning: 2 is memory integrity. VirtualizationBasedSecurityStatus: 2 is running.
Compare-Fact 'memory integrity' $system.virtualization.memory_integrity $(if ($guard) { $guard.SecurityServicesRunning -contains 2 })
if ($guard -and $guard.VirtualizationBasedSecurityStatus -eq 2 -and -not (Told { (Get-CimInstance Win32_ComputerSystem).Model -match 'Virtual' })) {
  Compare-Fact 'its own hypervisor' $system.virtualization.root_partition $true
}

$defender = Told { Get-MpComputerStatus }
Compare-Fact 'Defender scans' ($null -ne $system.virus_scanner) $(if ($defender) { [bool]$defender.RealTimeProtectionEnabled })

$bitlocker = Told { Get-BitLockerVolume -MountPoint "${letter}:" }
Compare-Fact 'BitLocker' $(if ($volume.encryption) { $volume.encryption -eq 'BitLocker' }) $(if ($bitlocker) { $bitlocker.ProtectionStatus -eq 'On' })

$number = Told { (Get-Partition -DriveLetter $letter).DiskNumber }
$physical = Told { Get-PhysicalDisk | Where-Object DeviceId -eq $number }
Compare-Fact 'bus' $disk.transport $(if ($physical) { ([string]$physical.BusType).ToLower() })
Compare-Fact 'logical sector' $disk.logical_block_bytes $(if ($physical) { $physical.LogicalSectorSize })
Compare-Fact 'physical sector' $disk.physical_block_bytes $(if ($physical) { $physical.PhysicalSectorSize })
Compare-Fact 'size' $disk.size_bytes $(if ($physical) { $physical.Size })
$drive = Told { Get-CimInstance Win32_DiskDrive | Where-Object Index -eq $number }
$parent = Told { (Get-PnpDeviceProperty -InstanceId $drive.PNPDeviceID -KeyName DEVPKEY_Device_Parent).Data }
Compare-Fact 'driver of the controller' $disk.driver $(if ($parent) { Told { (Get-PnpDeviceProperty -InstanceId $parent -KeyName DEVPKEY_Device_Service).Data } })
$reliability = Told { $physical | Get-StorageReliabilityCounter }
'{0,-28} {1,-12} qd1: {2}; Windows: {3}' -f 'temperature', 'to be read', $disk.temperature_c, $reliability.Temperature

$scheme = Told { powercfg /getactivescheme }
'{0,-28} {1,-12} qd1: {2}; Windows: {3}' -f 'power plan', 'to be read', $system.cpu.power_plan, $scheme
$processors = Told { Get-CimInstance Win32_Processor }
Compare-Fact 'cores' $system.cpu.cores $(if ($processors) { ($processors | Measure-Object NumberOfCores -Sum).Sum })
Compare-Fact 'threads' $system.cpu.threads $(if ($processors) { ($processors | Measure-Object NumberOfLogicalProcessors -Sum).Sum })
'{0,-28} {1,-12} qd1: {2}' -f 'kinds of cores', 'to be read', ($system.cpu.core_kinds -join ' faster than ')
exit [int]($contradictions -ne 0)
