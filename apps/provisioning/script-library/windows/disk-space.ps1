# Lists local volumes with their use. Exit code 1: one has less than 10 % free space. Changes nothing.
$ErrorActionPreference = 'Stop'
$minimum = 10
$disks = Get-CimInstance -ClassName Win32_LogicalDisk -Filter 'DriveType = 3' | Where-Object { $_.Size -gt 0 }
$disks |
  Select-Object 'DeviceID', 'VolumeName',
    @{ Name = 'SizeGB'; Expression = { [math]::Round($_.Size / 1gb, 1) } },
    @{ Name = 'FreeGB'; Expression = { [math]::Round($_.FreeSpace / 1gb, 1) } },
    @{ Name = 'FreePercent'; Expression = { [math]::Round(100 * $_.FreeSpace / $_.Size, 1) } } |
  Format-Table -AutoSize | Out-String -Width 200 | Write-Output
$full = @($disks | Where-Object { 100 * $_.FreeSpace / $_.Size -lt $minimum })
if ($full.Count -gt 0) { exit 1 }
exit 0
