# Shows how long Windows has been running, and whether a restart is pending. Exit code 1: a restart is pending, or none for
# more than 30 days. Changes nothing.
$ErrorActionPreference = 'Stop'
$system = Get-CimInstance -ClassName Win32_OperatingSystem
$uptime = (Get-Date) - $system.LastBootUpTime
Write-Output "Running for: $($uptime.Days) days, $($uptime.Hours) hours"
$keys = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired',
  'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending'
$pending = @($keys | Where-Object { Test-Path -Path $_ })
if ($pending.Count -gt 0) { Write-Output 'A restart is pending' }
if ($pending.Count -gt 0 -or $uptime.TotalDays -gt 30) { exit 1 }
exit 0
