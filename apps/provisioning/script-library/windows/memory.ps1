# Shows the use of memory and the ten largest processes. Exit code 1: less than 10 % is free. Changes nothing.
$ErrorActionPreference = 'Stop'
$system = Get-CimInstance -ClassName Win32_OperatingSystem
$percent = [math]::Round(100 * $system.FreePhysicalMemory / $system.TotalVisibleMemorySize, 1)
$totalMb = [math]::Round($system.TotalVisibleMemorySize / 1kb)
$freeMb = [math]::Round($system.FreePhysicalMemory / 1kb)
Write-Output "Memory: $totalMb MB, free: $freeMb MB ($percent %)"
Get-Process | Sort-Object -Property WorkingSet64 -Descending | Select-Object -First 10 |
  ForEach-Object { Write-Output "$([math]::Round($_.WorkingSet64 / 1mb)) MB  $($_.ProcessName) ($($_.Id))" }
if ($percent -lt 10) { exit 1 }
exit 0
