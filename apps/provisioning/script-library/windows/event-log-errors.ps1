# Counts critical events and errors of the System and Application logs of the last 24 hours by their source.
# Exit code 1: there are critical ones. Changes nothing.
$ErrorActionPreference = 'Stop'
$filter = @{ LogName = 'System', 'Application'; Level = 1, 2; StartTime = (Get-Date).AddHours(-24) }
$events = @(Get-WinEvent -FilterHashtable $filter -MaxEvents 2000 -ErrorAction SilentlyContinue)
Write-Output "Errors in the last 24 hours: $($events.Count)"
$events | Group-Object -Property 'LogName', 'ProviderName', 'Id' | Sort-Object -Property Count -Descending |
  Select-Object -First 30 | ForEach-Object { Write-Output "$($_.Count) x $($_.Name)" }
if (@($events | Where-Object { $_.Level -eq 1 }).Count -gt 0) { exit 1 }
exit 0
