# Shows the health and SMART counters of the physical disks. Exit code 1: a disk is not healthy. Changes nothing.
$ErrorActionPreference = 'Stop'
$disks = @(Get-PhysicalDisk)
foreach ($disk in $disks) {
  $counter = $disk | Get-StorageReliabilityCounter -ErrorAction SilentlyContinue
  Write-Output "$($disk.FriendlyName) ($($disk.MediaType)): $($disk.HealthStatus), temperature $($counter.Temperature), wear $($counter.Wear), read errors $($counter.ReadErrorsUncorrected)"
}
if (@($disks | Where-Object { "$($_.HealthStatus)" -ne 'Healthy' }).Count -gt 0) { exit 1 }
exit 0
